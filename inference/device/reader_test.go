package device

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"dure/inference/device/nvml"
)

// fakeNVML compiles the stand-in of the package nvml.
func fakeNVML(t *testing.T, scenario string) string {
	t.Helper()
	for _, name := range []string{"gcc", "clang", "cc"} {
		compiler, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		file := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
		if out, err := exec.Command(compiler, "-shared", "-fPIC", "-DSCENARIO="+scenario, "-o", file, "nvml/testdata/fake.c").CombinedOutput(); err != nil {
			t.Fatalf("compile the stand-in: %v\n%s", err, out)
		}
		return file
	}
	t.Skip("SKIPPED: the stand-in for NVIDIA's library needs a C compiler (gcc, clang or cc)")
	return ""
}

func nvidiaReader(t *testing.T, file string) *Reader {
	t.Helper()
	_, root, _ := readMachine(t, "testdata/rtx5090.txtar")
	root["proc/900/comm"] = &fstest.MapFile{Data: []byte("Xorg\n")}
	r := newReader(Options{Root: root}, func() string { return "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus." })
	r.open = func(string) (*nvml.Library, error) { return nvml.Open(file) }
	return r
}

// From the bus and a driver's library to the list, twice, and closed in between.
func TestReaderNVIDIA(t *testing.T) {
	r := nvidiaReader(t, fakeNVML(t, "TWO_CARDS"))
	for range 2 {
		s := r.Read(t.Context(), nil, []int{4001})
		if s.NVMLErr != nil || len(s.NVML.Cards) != 2 {
			t.Fatalf("NVML: %v, %d cards", s.NVMLErr, len(s.NVML.Cards))
		}
		devices := Merge(s)
		checkDevices(t, s, devices)
		// The first is on the recorded bus, the second only in the library, and
		// the bus has the processor's graphics besides.
		if len(devices) != 4 || devices[0].PCI != "0000:01:00.0" || devices[2].PCI != "10000:c1:1f.0" || devices[1].Vendor != VendorAMD {
			t.Fatalf("devices are %+v", devices)
		}
		d := devices[0]
		if d.Total != Is[uint64](34190917632) || d.Others != Is[uint64](3000000000-3000000) || d.Lost != "" {
			t.Errorf("total %+v, others %+v, lost %q", d.Total, d.Others, d.Lost)
		}
		if p := d.Processes.Value; len(p) != 4 || p[0].Name != "Xorg" || !p[1].Own || p[1].PID != 4001 {
			t.Errorf("processes %+v", d.Processes)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReaderTrouble(t *testing.T) {
	r := nvidiaReader(t, filepath.Join(t.TempDir(), "gone"))
	s := r.Read(t.Context(), nil, nil)
	if !errors.Is(s.NVMLErr, nvml.ErrAbsent) {
		t.Errorf("no library: %v", s.NVMLErr)
	}
	// A driver is loaded, nothing answers, and the log says that the card fell
	// off the bus.
	if d := Merge(s)[0]; !strings.Contains(d.Lost, "Xid") || d.Total.Known || !strings.Contains(d.Total.Why, "not here") {
		t.Errorf("the card is %+v", d)
	}
	r = nvidiaReader(t, fakeNVML(t, "MISMATCH"))
	if s := r.Read(t.Context(), nil, nil); !errors.Is(s.NVMLErr, nvml.VersionMismatch) {
		t.Errorf("an updated driver: %v", s.NVMLErr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := r.Read(ctx, nil, nil); s.NVMLErr == nil || s.Report.CPU.Model == "" {
		t.Errorf("a cancelled look: %v, %+v", s.NVMLErr, s.Report.CPU)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
}

// This machine, whatever it has, makes a list that holds together.
func TestReaderHere(t *testing.T) {
	r := NewReader(nil)
	s := r.Read(t.Context(), []EngineDevice{{Name: "CPU", Kind: "cpu", Backend: "CPU", TotalBytes: 1}}, nil)
	devices := Merge(s)
	checkDevices(t, s, devices)
	cpu := devices[len(devices)-1]
	if !cpu.Total.Known || !cpu.Free.Known || cpu.Free.Value > cpu.Total.Value || len(cpu.Seen) != 1 {
		t.Errorf("the CPU is %+v", cpu)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
