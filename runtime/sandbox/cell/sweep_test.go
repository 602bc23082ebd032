package cell

import (
	"testing"

	"pgregory.net/rapid"
)

// Any table of processes, also one with rings: ancestor ends, and is right.
func TestAncestor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parents := map[int]int{}
		for pid := 2; pid < rapid.IntRange(2, 20).Draw(t, "n"); pid++ {
			parents[pid] = rapid.IntRange(0, 22).Draw(t, "parent")
		}
		for pid := range parents {
			leader, ours := ancestor(parents, pid, 1)
			if ours && parents[leader] != 1 {
				t.Fatalf("%d of %v is no child of 1", leader, parents)
			}
			if ours {
				p := pid
				for p != leader {
					p = parents[p]
				}
			}
		}
	})
}

func TestResident(t *testing.T) {
	if n := resident("Name:\tx\nVmRSS:\t 9 kB\nRssAnon:\t     104 kB\nRssFile: 7 kB\n"); n != 104<<10 {
		t.Errorf("%d", n)
	}
	if n := resident("RssAnon: many kB\nRssAnon:\n"); n != 0 {
		t.Errorf("%d", n)
	}
}

func FuzzResident(f *testing.F) {
	f.Add("RssAnon:\t 104 kB\n")
	f.Add("RssAnon: 9223372036854775807 kB\n")
	f.Fuzz(func(_ *testing.T, status string) { resident(status) })
}

func TestFind(t *testing.T) {
	if f, err := find("sh", []string{"PATH=/nowhere", "PATH=/nowhere:/bin"}, "/"); err != nil || f != "/bin/sh" {
		t.Errorf("%q %v", f, err)
	}
	if _, err := find("sh", nil, "/bin"); err == nil {
		t.Error("found without a PATH")
	}
	if f, err := find("./x", nil, "/"); err != nil || f != "./x" {
		t.Errorf("%q %v", f, err)
	}
}
