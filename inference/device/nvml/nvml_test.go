package nvml

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fake compiles the stand-in with a scenario and loads it.
func fake(t *testing.T, scenario string, flags ...string) (*Library, string) {
	t.Helper()
	compiler := ""
	for _, name := range []string{"gcc", "clang", "cc"} {
		if file, err := exec.LookPath(name); err == nil {
			compiler = file
			break
		}
	}
	if compiler == "" {
		t.Skip("SKIPPED: the stand-in for NVIDIA's library needs a C compiler (gcc, clang or cc)")
	}
	file := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	args := append([]string{"-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-DSCENARIO=" + scenario, "-o", file, "testdata/fake.c"}, flags...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("compile the stand-in: %v\n%s", err, out)
	}
	l, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, file
}

func read(t *testing.T, l *Library) Snapshot {
	t.Helper()
	s, err := l.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var sameError = cmp.Comparer(func(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && (errors.Is(a, b) || errors.Is(b, a))
})

func processes(list ...Process) Value[[]Process] { return Known(list) }

func firstCard() Card {
	return Card{
		Name: Known("NVIDIA GeForce RTX 5090"), UUID: Known("GPU-00000000-0000-0000-0000-000000000000"), PCI: Known("0000:01:00.0"),
		Memory:      Known(Memory{Total: 34190917632, Reserved: 500000000, Free: 30690917632, Used: 3000000000}),
		Utilisation: Known(Utilisation{97, 41}), Temperature: Known(61), Power: Known[uint64](431500), PowerLimit: Known[uint64](575000),
		PowerRange: Known(PowerRange{400000, 600000, 575000}),
		Capability: Known(Version{12, 0}), MIG: Known(MIG{}), Link: Known(Link{1, 8}), MaxLink: Known(Link{5, 16}),
		Clock: Known(2407), MemoryClock: Known(14001),
		Processes: processes(Process{900, Known[uint64](123456789), false, true}, Process{4001, Known[uint64](3000000), true, true},
			Process{4002, Missing[uint64](NotSupported), true, false}, Process{4003, Known[uint64](1000000), true, false}),
	}
}

func TestTwoCards(t *testing.T) {
	l, _ := fake(t, "TWO_CARDS")
	second := firstCard()
	second.Index, second.Name, second.UUID = 1, Known("NVIDIA GeForce RTX 3090"), Known("GPU-00000000-0000-0000-0000-000000000001")
	second.PCI, second.Temperature, second.Capability = Known("10000:c1:1f.0"), Known(62), Known(Version{8, 6})
	second.Memory = Known(Memory{Total: 25769803776, Reserved: 500000000, Free: 24269803776, Used: 1000000000})
	want := Snapshot{Driver: Known("580.65.06"), CUDA: Known(Version{13, 0}), Cards: []Card{firstCard(), second}}
	for range 2 {
		if d := cmp.Diff(want, read(t, l), sameError); d != "" {
			t.Error(d)
		}
	}
}

// What a card does not tell is unknown with the reason, and the rest is there.
func TestNotSupported(t *testing.T) {
	l, _ := fake(t, "GEFORCE")
	want := firstCard()
	want.Utilisation, want.Power = Missing[Utilisation](NotSupported), Missing[uint64](NotSupported)
	want.PowerLimit, want.Link = Missing[uint64](NoPermission), Missing[Link](NotSupported)
	want.PowerRange = Missing[PowerRange](NotSupported)
	want.Processes = processes(Process{4001, Known[uint64](3000000), true, false},
		Process{4002, Missing[uint64](NotSupported), true, false}, Process{4003, Known[uint64](1000000), true, false})
	got := read(t, l).Cards[0]
	if d := cmp.Diff(want, got, sameError, cmpopts.IgnoreFields(Card{}, "Link")); d != "" {
		t.Error(d)
	}
	if got.Link.Known || !errors.Is(got.Link.Err, NotSupported) {
		t.Errorf("half a link is %+v", got.Link)
	}
	if !strings.HasPrefix(got.Power.Err.Error(), "nvmlDeviceGetPowerUsage: ") {
		t.Errorf("the refusal does not say which call: %v", got.Power.Err)
	}
}

func TestMemoryNotSupportedIsNotAskedAgain(t *testing.T) {
	l, _ := fake(t, "NO_MEMORY")
	if m := read(t, l).Cards[0].Memory; m.Known || !errors.Is(m.Err, NotSupported) {
		t.Errorf("memory is %+v", m)
	}
}

func TestMIG(t *testing.T) {
	l, _ := fake(t, "MIG")
	card := read(t, l).Cards[0]
	if card.MIG != Known(MIG{On: true}) {
		t.Errorf("MIG is %+v", card.MIG)
	}
	if card.Processes.Known || !errors.Is(card.Processes.Err, NoPermission) {
		t.Errorf("processes are %+v", card.Processes)
	}
}

// A driver of 2021 has none of the newer calls.
func TestOldLibrary(t *testing.T) {
	l, _ := fake(t, "OLD", "-DWITHOUT_NEW")
	s := read(t, l)
	want := firstCard()
	want.Memory = Known(Memory{Total: 25769803776, Free: 24269803776, Used: 1500000000})
	want.Processes = processes(Process{66, Known[uint64](600), true, false}, Process{77, Known[uint64](700), true, false})
	if d := cmp.Diff(Snapshot{Driver: Known("470.256.02"), CUDA: Known(Version{11, 4}), Cards: []Card{want}}, s, sameError); d != "" {
		t.Error(d)
	}
}

func TestProcessListGrows(t *testing.T) {
	l, _ := fake(t, "GROWING")
	p := read(t, l).Cards[0].Processes
	if len(p.V) != 61 || !p.Known { // 60, and one that only draws
		t.Errorf("%d processes, %v", len(p.V), p.Err)
	}
}

func TestBrokenLibrary(t *testing.T) {
	l, _ := fake(t, "ENDLESS")
	if p := read(t, l).Cards[0].Processes; p.Known || p.Err == nil || !strings.Contains(p.Err.Error(), "grew") {
		t.Errorf("a list without an end is %+v", p)
	}
	l, _ = fake(t, "LIAR")
	card := read(t, l).Cards[0]
	if p := card.Processes; p.Known || p.Err == nil || !strings.Contains(p.Err.Error(), "filled 21 of 16") {
		t.Errorf("a list longer than its room is %+v", p)
	}
	if card.Name.V != strings.Repeat("x", 96) {
		t.Errorf("a name without an end is %q", card.Name.V)
	}
	l, _ = fake(t, "MANY")
	if _, err := l.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "100000") {
		t.Errorf("100000 cards: %v", err)
	}
}

func TestDriverTrouble(t *testing.T) {
	for scenario, want := range map[string]Code{"MISMATCH": VersionMismatch, "NO_DRIVER": DriverNotLoaded} {
		l, _ := fake(t, scenario)
		for range 2 { // it is tried anew each time
			if _, err := l.Read(t.Context()); !errors.Is(err, want) {
				t.Errorf("%s: %v", scenario, err)
			}
		}
	}
}

// After a card was lost the library is started anew, which shows one that is back.
func TestLostCard(t *testing.T) {
	l, _ := fake(t, "LOST")
	s := read(t, l)
	if s.Cards[0].Lost() != nil || !errors.Is(s.Cards[1].Lost(), GPUIsLost) {
		t.Fatalf("lost: %v, %v", s.Cards[0].Lost(), s.Cards[1].Lost())
	}
	if c := s.Cards[1]; c.Memory.Known || c.Name.Known || c.MIG.Known || c.Processes.Known || c.Link.Known || c.Clock.Known {
		t.Errorf("something is known of a lost card: %+v", c)
	}
	if s = read(t, l); s.Cards[1].Lost() != nil || !s.Cards[1].Memory.Known {
		t.Errorf("the card is still lost: %+v", s.Cards[1])
	}
	l, _ = fake(t, "LOST_HANDLE")
	if s = read(t, l); !errors.Is(s.Cards[1].Err, GPUIsLost) || !errors.Is(s.Cards[1].Lost(), GPUIsLost) || s.Cards[1].Memory.Known {
		t.Errorf("a card without a handle is %+v", s.Cards[1])
	}
}

// A driver that keeps a call costs that call and nothing else.
func TestDriverHangs(t *testing.T) {
	l, file := fake(t, "HANG")
	handle, err := purego.Dlopen(file, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	var entered func() int32
	var release func()
	purego.RegisterLibFunc(&entered, handle, "fake_entered")
	purego.RegisterLibFunc(&release, handle, "fake_release")

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for entered() == 0 {
			runtime.Gosched()
		}
		cancel()
	}()
	if _, err := l.Read(ctx); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.Canceled) {
		t.Errorf("the kept call: %v", err)
	}
	if _, err := l.Read(ctx); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("the next call: %v", err)
	}
	if err := l.Close(); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("closing: %v", err)
	}
	release()
	if s := read(t, l); !s.Cards[0].Utilisation.Known {
		t.Errorf("after the driver came back: %+v", s.Cards[0])
	}
}

func TestAbsent(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "libnvidia-ml.so.1")} {
		if _, err := Open(path); !errors.Is(err, ErrAbsent) {
			t.Errorf("Open(%q): %v", path, err)
		}
	}
	broken := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if err := os.WriteFile(broken, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(broken); err == nil || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), broken) {
		t.Errorf("a file that is no library: %v", err)
	}
}

func TestClosed(t *testing.T) {
	l, _ := fake(t, "TWO_CARDS")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // nothing is asked of the driver, so nothing is left inside
		if _, err := l.Read(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("a look that nobody waits for: %v", err)
		}
	}
	read(t, l)
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := l.Read(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("reading a closed library: %v", err)
	}
}

// Any other library has none of the functions, which is an error like others.
func TestNotNVML(t *testing.T) {
	file := "/lib/" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] + "-linux-gnu/libm.so.6"
	l, err := Open(file)
	if errors.Is(err, ErrAbsent) {
		t.Skipf("SKIPPED: no %s here", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(t.Context()); !errors.Is(err, FunctionNotFound) {
		t.Errorf("libm as NVML: %v", err)
	}
}
