package device

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the reports of the recorded machines anew; read the difference before you commit it")

const wantFile = "want.json"

// Each file in testdata is the part of a machine's file system that Detect
// reads, with the report that belongs to it.
func TestDetectRecordedMachines(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recorded machines, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			machine, root, want := readMachine(t, file)
			report := Detect(Options{Root: root})
			got, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				writeWant(t, file, machine, append(got, '\n'))
				return
			}
			if d := cmp.Diff(want, string(got)+"\n"); d != "" {
				t.Error(d)
			}
			for _, p := range report.Problems {
				if p.What == "" || p.Fix == "" {
					t.Errorf("problem without a fix: %+v", p)
				}
			}
		})
	}
}

func readMachine(t *testing.T, file string) (*txtar.Archive, fstest.MapFS, string) {
	t.Helper()
	machine, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root, want := fstest.MapFS{}, ""
	for _, f := range machine.Files {
		if f.Name == wantFile {
			want = string(f.Data)
			continue
		}
		root[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return machine, root, want
}

func writeWant(t *testing.T, file string, machine *txtar.Archive, want []byte) {
	t.Helper()
	var files []txtar.File
	for _, f := range machine.Files {
		if f.Name != wantFile {
			files = append(files, f)
		}
	}
	machine.Files = append(files, txtar.File{Name: wantFile, Data: want})
	if err := os.WriteFile(file, txtar.Format(machine), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An empty root is a machine about which nothing is known: a report with that
// said, and no panic.
func TestDetectNothing(t *testing.T) {
	r := Detect(Options{Root: fstest.MapFS{}})
	if r.CPU.Threads() != 1 || r.Memory.Usable() != 0 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].What, "/proc/meminfo") {
		t.Errorf("report is %+v", r)
	}
}

func TestHere(t *testing.T) {
	r := Here(nil)
	if r.Memory.Total == 0 || r.Memory.Available == 0 || r.CPU.Usable == 0 || r.CPU.Physical == 0 || r.CPU.Physical > r.CPU.Usable {
		t.Errorf("this machine is %+v", r)
	}
}

func TestAffinityNarrowsTheCPU(t *testing.T) {
	_, root, _ := readMachine(t, "testdata/no-gpu.txtar")
	for _, c := range []struct {
		cpus              []int
		physical, threads int
	}{{[]int{0, 1, 2, 3}, 2, 2}, {[]int{0, 2}, 1, 1}, {[]int{1}, 1, 1}, {[]int{0, 3}, 2, 2}} {
		cpu := Detect(Options{Root: root, CPUs: c.cpus}).CPU
		if cpu.Usable != len(c.cpus) || cpu.Physical != c.physical || cpu.Threads() != c.threads {
			t.Errorf("on CPUs %v: %+v, %d threads", c.cpus, cpu, cpu.Threads())
		}
	}
}

func TestQuota(t *testing.T) {
	for s, want := range map[string]float64{"max 100000": 0, "": 0, "150000 100000": 1.5, "50000 100000": 0.5, "x y": 0, "1 0": 0, "-1 100000": 0} {
		if got := parseQuota(s); got != want {
			t.Errorf("parseQuota(%q) = %v, want %v", s, got, want)
		}
	}
	for _, c := range []struct {
		cpu  CPU
		want int
	}{{CPU{Physical: 8}, 8}, {CPU{Physical: 8, Quota: 1.5}, 2}, {CPU{Physical: 8, Quota: 0.2}, 1}, {CPU{Physical: 2, Quota: 6}, 2}, {CPU{}, 1}} {
		if got := c.cpu.Threads(); got != c.want {
			t.Errorf("%+v makes %d threads, want %d", c.cpu, got, c.want)
		}
	}
}

func TestMemoryUsable(t *testing.T) {
	for _, c := range []struct {
		m    Memory
		want uint64
	}{{Memory{Available: 10}, 10}, {Memory{Available: 10, Limit: 8, Used: 3}, 5}, {Memory{Available: 4, Limit: 8, Used: 3}, 4}, {Memory{Available: 10, Limit: 8, Used: 9}, 0}} {
		if got := c.m.Usable(); got != c.want {
			t.Errorf("%+v leaves %d, want %d", c.m, got, c.want)
		}
	}
}
