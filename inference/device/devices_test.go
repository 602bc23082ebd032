package device

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// recorded is what a file in testdata/devices adds to a machine's files: what the
// engine reported (in the words of its probe) and what of it is ours.
type recorded struct {
	Variant string         `json:"variant"`
	Own     []int          `json:"own"`
	Devices []EngineDevice `json:"devices"`
}

func readRecorded(t *testing.T, root fstest.MapFS) (r recorded, log string) {
	t.Helper()
	if err := json.Unmarshal(root["engine.json"].Data, &r); err != nil {
		t.Fatal(err)
	}
	if f := root["kernel.log"]; f != nil {
		log = string(f.Data)
	}
	return r, log
}

// Each file in testdata/devices is a machine with what an engine sees of it, and
// the list of devices and the problems that come of it.
func TestRecordedDevices(t *testing.T) {
	files, err := filepath.Glob("testdata/devices/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recorded machines, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			machine, root, want := readMachine(t, file)
			r, log := readRecorded(t, root)
			reader := newReader(Options{Root: root}, func() string { return log })
			sources := reader.Read(t.Context(), r.Devices, r.Own)
			devices := Merge(sources)
			problems := append(sources.Report.Problems, Unused(sources, devices, r.Variant)...)
			got, err := json.MarshalIndent(struct {
				Devices  []Device  `json:"devices"`
				Problems []Problem `json:"problems"`
			}{devices, problems}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			checkDevices(t, sources, devices)
			if *update {
				writeWant(t, file, machine, append(got, '\n'))
				return
			}
			if d := cmp.Diff(want, string(got)+"\n"); d != "" {
				t.Error(d)
			}
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkDevices checks what holds for every list.
func checkDevices(t interface{ Errorf(string, ...any) }, s Sources, devices []Device) {
	ids, addresses, sights := map[string]bool{}, map[string]bool{}, 0
	for _, d := range devices {
		if d.ID == "" || ids[d.ID] {
			t.Errorf("the ID %q is empty or there twice", d.ID)
		}
		if d.PCI != "" && addresses[d.PCI] {
			t.Errorf("%s is there twice", d.PCI)
		}
		ids[d.ID], addresses[d.PCI] = true, true
		sights += len(d.Seen)
		for _, r := range []Reading[uint64]{d.Total, d.Free, d.Used, d.Others, d.Unlisted} {
			if !r.Known && (r.Value != 0 || r.Why == "") {
				t.Errorf("%s: an unknown size is %+v", d.ID, r)
			}
		}
		if d.Used.Known && d.Others.Known && d.Others.Value > d.Used.Value {
			t.Errorf("%s: others hold %d of %d in use", d.ID, d.Others.Value, d.Used.Value)
		}
		if d.Kind == "" || d.Vendor == "" {
			t.Errorf("%s: kind %q, vendor %q", d.ID, d.Kind, d.Vendor)
		}
	}
	if sights != len(s.Engine) {
		t.Errorf("%d of the engine's %d devices are in the list", sights, len(s.Engine))
	}
	if n := len(devices); n == 0 || devices[n-1].Kind != Processor {
		t.Errorf("the CPU is not last")
	}
	for _, g := range s.Report.GPUs {
		if g.Vendor != VendorOther && !addresses[g.PCI] {
			t.Errorf("%s is missing", g.PCI)
		}
	}
	for _, p := range Unused(s, devices, "cpu") {
		if p.What == "" || p.Fix == "" || strings.HasSuffix(p.What, ".") {
			t.Errorf("problem %+v", p)
		}
	}
}
