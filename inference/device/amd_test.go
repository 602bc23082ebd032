package device

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestGFXTarget(t *testing.T) {
	for version, want := range map[uint64]string{120001: "gfx1201", 110000: "gfx1100", 110501: "gfx1151", 100306: "gfx1036", 90010: "gfx90a", 90012: "gfx90c", 90402: "gfx942", 0: "", 99: "", 119999: ""} {
		if got := gfxTarget(version); got != want {
			t.Errorf("gfxTarget(%d) = %q, want %q", version, got, want)
		}
	}
}

func TestAMDName(t *testing.T) {
	list := fstest.MapFS{"usr/share/libdrm/amdgpu.ids": {Data: []byte("# List\n1.0.0\n744C,\tC8,\tFrom the list\nzz,\tC8,\tno\n73BF,C1, Spaces,and commas \n")}}
	for _, c := range []struct {
		root     fs.FS
		device   uint16
		revision int
		want     string
	}{
		{list, 0x744c, 0xc8, "From the list"}, {list, 0x73bf, 0xc1, "Spaces,and commas"},
		{list, 0x7551, 0xc0, "AMD Radeon AI PRO R9700"}, // the table
		{fstest.MapFS{}, 0x744c, 0xcc, "AMD Radeon RX 7900 XT"},
		{fstest.MapFS{}, 0x744c, 0x01, ""}, {list, 0x744c, -1, ""}, {list, 0xffff, 0, ""},
	} {
		if got := amdName(c.root, c.device, c.revision); got != c.want {
			t.Errorf("%04x revision %x is %q, want %q", c.device, c.revision, got, c.want)
		}
	}
}

// Files that refuse or hold nonsense make a reading unknown, with the reason.
func TestAMDReadings(t *testing.T) {
	root := fstest.MapFS{
		"good":        {Data: []byte("61000\n")},
		"nonsense":    {Data: []byte("N/A\n")},
		"negative":    {Data: []byte("-1\n")},
		"clock":       {Data: []byte("0: 500Mhz\n1: 2350Mhz *\n")},
		"no-star":     {Data: []byte("0: 500Mhz\n")},
		"now_speed":   {Data: []byte("junk")},
		"folder/file": {},
	}
	if r := scaledFile(root, "/good", 1000); r != Is(61.0) {
		t.Errorf("good is %+v", r)
	}
	if r := currentClock(root, "/clock"); r != Is(2350) {
		t.Errorf("clock is %+v", r)
	}
	for _, r := range []Reading[uint64]{byteFile(root, "/nonsense"), byteFile(root, "/negative"), byteFile(root, "/not-there"), byteFile(root, "/folder")} {
		if r.Known || r.Value != 0 || r.Why == "" {
			t.Errorf("a bad file is %+v", r)
		}
	}
	if r := currentClock(root, "/no-star"); r.Known || r.Why == "" {
		t.Errorf("a clock without a star is %+v", r)
	}
	root["current_link_speed"], root["current_link_width"] = root["now_speed"], &fstest.MapFile{Data: []byte("16")}
	if r := linkFile(root, "", "current"); r.Known || !strings.Contains(r.Why, "junk") {
		t.Errorf("a junk link is %+v", r)
	}
}

func TestProcessMemory(t *testing.T) {
	client := func(id, vram string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t" + id + "\n" + vram)}
	}
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	root := fstest.MapFS{
		"proc/30/fdinfo/5":   client("1", "drm-resident-vram:\t3 MiB\ndrm-memory-vram:\t9 MiB"),
		"proc/30/fdinfo/6":   client("1", "drm-resident-vram:\t3 MiB"), // a copy of the file
		"proc/30/fdinfo/7":   client("2", "drm-memory-vram:\t512 KiB\ndrm-memory-gtt:\t100"),
		"proc/30/fd/5":       link("/dev/dri/renderD128"),
		"proc/31/fdinfo/5":   client("1", "drm-resident-vram:\t3 MiB"), // inherited
		"proc/32/fdinfo/5":   client("3", "drm-resident-vram:\t7 MiB"), // the link says it is something else
		"proc/32/fd/5":       link("/home/x"),
		"proc/33/fdinfo/5":   client("4", "drm-resident-vram:\t0"),
		"proc/34/fdinfo/5":   {Data: []byte("drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\ndrm-resident-vram:\t1 MiB")},
		"proc/35/fdinfo/5":   client("5", "drm-resident-vram:\t18446744073709551615 MiB"),
		"proc/self/fdinfo/5": client("6", "drm-resident-vram:\t3 MiB"),
	}
	want := []ProcessMemory{{PID: 30, PCI: "0000:03:00.0", VRAM: 3<<20 + 512<<10, GTT: 100}}
	if d := cmp.Diff(want, readProcessMemory(root)); d != "" {
		t.Error(d)
	}
}

func TestParseFaults(t *testing.T) {
	log := strings.Join([]string{
		"[  1.0] NVRM: Xid (PCI:0000:01:00): 31, pid=77, name=python3, MMU Fault", // a program's own
		"<3>[ 2.0] NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
		"[  3.0] NVRM: Xid (PCI:0000:02:00): 13, Graphics Exception",
		"[  4.0] amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62",
		"[  5.0] amdgpu 0000:04:00.0: amdgpu: device lost from bus!",
		"[  6.0] amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!",
		"[  7.0] amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = 0",
		"[  8.0] NVRM: Xid (PCI:nonsense): 79, x",
	}, "\n")
	want := []Fault{
		{"0000:01:00.0", 79, "NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus"},
		{"0000:04:00.0", 0, "amdgpu 0000:04:00.0: amdgpu: device lost from bus!"},
	}
	if d := cmp.Diff(want, ParseFaults(log)); d != "" {
		t.Error(d)
	}
}

func TestNormalPCI(t *testing.T) {
	for s, want := range map[string]string{
		"0000:01:00.0": "0000:01:00.0", "00000000:C1:1F.7": "0000:c1:1f.7", "01:00.0": "0000:01:00.0", "0001:02:03": "0001:02:03.0", "10000:E1:00.0": "10000:e1:00.0",
		"": "", "x": "", "1:2:3:4": "", "0000:01:00.": "", "-1:00:00.0": "", "100000000:00:00.0": "",
	} {
		if got := normalPCI(s); got != want {
			t.Errorf("normalPCI(%q) = %q, want %q", s, got, want)
		}
	}
}

// A user outside of the groups of the device files is told to join them.
func TestRefusedDeviceFiles(t *testing.T) {
	_, root, _ := readMachine(t, "testdata/r9700.txtar")
	root["dev/kfd"] = &fstest.MapFile{}
	var asked []string
	r := Detect(Options{Root: root, Access: func(file string) error {
		asked = append(asked, file)
		return errors.New("permission denied")
	}})
	slices.Sort(asked)
	if d := cmp.Diff([]string{"/dev/dri/renderD128", "/dev/kfd"}, asked); d != "" {
		t.Error(d)
	}
	if len(r.Problems) != 2 || r.GPUs[0].Refused != "/dev/dri/renderD128" || !r.GPUs[0].Render {
		t.Fatalf("the card is %+v, problems %+v", r.GPUs[0], r.Problems)
	}
	for i, file := range []string{"/dev/dri/renderD128", "/dev/kfd"} {
		if p := r.Problems[i]; !strings.Contains(p.What, file) || !strings.Contains(p.Fix, "usermod -aG render,video") {
			t.Errorf("problem %+v", p)
		}
	}
	s := Sources{Report: r}
	if p := Unused(s, Merge(s), "vulkan"); len(p) != 0 { // said already
		t.Errorf("said again: %+v", p)
	}
}

func FuzzParseFDInfo(f *testing.F) {
	f.Add("drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t1\ndrm-resident-vram:\t18446744073709551615 MiB")
	f.Add("drm-driver: amdgpu\ndrm-pdev: x\ndrm-client-id: 1\ndrm-memory-vram: 8796093022208 MiB\ndrm-resident-vram: -1 KiB")
	f.Fuzz(func(t *testing.T, text string) {
		info, ok := parseFDInfo(text)
		if !ok && info != (fdInfo{}) || ok && (info.client.pci == "" || info.vram > 1<<63 || info.gtt > 1<<63) {
			t.Fatalf("%+v, %v", info, ok)
		}
	})
}

func FuzzParseFaults(f *testing.F) {
	f.Add("NVRM: Xid (PCI:0000:01:00): 79, x\namdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -110")
	f.Add("NVRM: Xid (PCI::::): 99999999999999999999, x")
	f.Fuzz(func(t *testing.T, log string) {
		for _, fault := range ParseFaults(log) {
			if fault.PCI == "" || fault.Text == "" || normalPCI(fault.PCI) != fault.PCI {
				t.Fatalf("%+v", fault)
			}
		}
	})
}
