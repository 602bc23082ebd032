package merge

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawTriple draws texts of few different lines, so that all cases come up.
func drawTriple(t *rapid.T) (base, ours, theirs []byte) {
	text := rapid.Custom(func(t *rapid.T) []byte {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d\r\n", "e\n"}), 0, 12).Draw(t, "lines")
		return []byte(strings.Join(lines, "") + rapid.SampledFrom([]string{"", "", "", "a", "z"}).Draw(t, "end"))
	})
	return text.Draw(t, "base"), text.Draw(t, "ours"), text.Draw(t, "theirs")
}

func mustText(t interface{ Fatal(...any) }, base, ours, theirs []byte, g Grain) *Merged {
	m, err := Text(base, ours, theirs, g, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Hunks cover the three texts in order, and say the truth about them.
func checkHunks(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, m *Merged, grain Grain) {
	var at Hunk
	for _, h := range m.Hunks {
		if h.Ours.Start != at.Ours.End || h.Theirs.Start != at.Theirs.End {
			t.Fatalf("hole in ours or theirs before %+v", h)
		}
		if h.Base.Start != at.Base.End && (grain == Whole || h.Kind != Conflict || h.Base != at.Base) && h.Base.Start > at.Base.End {
			t.Fatalf("hole in base before %+v", h)
		}
		base, ours, theirs := m.Lines(h)
		switch {
		case h.Kind == Kept && (!bytes.Equal(base, ours) || !bytes.Equal(base, theirs)):
			t.Fatalf("kept lines differ: %+v", h)
		case h.Kind == Theirs && !bytes.Equal(base, ours):
			t.Fatalf("theirs replaces what ours changed: %+v", h)
		case h.Kind == Conflict && bytes.Equal(ours, theirs):
			t.Fatalf("a conflict of equal sides: %+v", h)
		}
		at = h
	}
	if at.Ours.End != m.ours.len() || at.Theirs.End != m.theirs.len() || at.Base.End != m.base.len() {
		t.Fatalf("hunks end at %+v", at)
	}
}

func TestLawsOfMerging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := drawTriple(t)
		for _, grain := range []Grain{Fine, Whole} {
			m := mustText(t, base, ours, theirs, grain)
			checkHunks(t, m, grain)
			back := mustText(t, base, theirs, ours, grain)
			a, okA := m.Bytes()
			b, okB := back.Bytes()
			if okA != okB || !bytes.Equal(a, b) {
				t.Fatalf("sides are not alike: %q %v, %q %v", a, okA, b, okB)
			}
			if Marked(a) {
				t.Fatalf("markers in %q", a)
			}
			for _, same := range []struct{ b, o, t, want []byte }{
				{base, base, theirs, theirs}, {base, ours, base, ours}, {base, ours, ours, ours},
			} {
				got, ok := mustText(t, same.b, same.o, same.t, grain).Bytes()
				if !ok || !bytes.Equal(got, same.want) {
					t.Fatalf("merge of %q %q %q is %q", same.b, same.o, same.t, got)
				}
			}
		}
	})
}

func applyChanges(a, b []byte, changes []Change) []byte {
	d := newDictionary()
	x, y := cut(a, d), cut(b, d)
	return applied(nil, x, y, Range{0, x.len()}, changes)
}

// A comparison turns one text into the other, and its changes do not touch.
func checkDiff(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, a, b []byte) {
	changes, err := Diff(a, b, Limits{})
	if errors.Is(err, ErrBinary) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := applyChanges(a, b, changes); !bytes.Equal(got, b) {
		t.Fatalf("changes %v make %q", changes, got)
	}
	for i, c := range changes {
		if c.A.Empty() && c.B.Empty() || i > 0 && (c.A.Start <= changes[i-1].A.End || c.B.Start <= changes[i-1].B.End) {
			t.Fatalf("changes %v: number %d touches the one before, or is none", changes, i)
		}
	}
}

func TestDiffTurnsOneIntoTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, _ := drawTriple(t)
		checkDiff(t, a, b)
	})
	r := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		tr := shuffled(r)
		checkDiff(t, tr.base, tr.ours)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nB\nc\n"), []byte("a\nb\nC"))
	f.Add([]byte("a\r\nb\r\n"), []byte("a\r\nb"), []byte(""))
	f.Add([]byte("\n\n\n"), []byte("\n\nx\n\n"), []byte("\n\n\ny\n"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		checkDiff(t, base, ours)
		for _, grain := range []Grain{Fine, Whole} {
			m, err := Text(base, ours, theirs, grain, Limits{})
			if errors.Is(err, ErrBinary) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkHunks(t, m, grain)
		}
	})
}

func TestRefusals(t *testing.T) {
	nul := []byte("a\x00b\n")
	for _, c := range []struct{ b, o, t []byte }{{nul, nil, nil}, {nil, nul, nil}, {nil, nil, nul}} {
		if _, err := Text(c.b, c.o, c.t, Fine, Limits{}); !errors.Is(err, ErrBinary) {
			t.Errorf("NUL: %v", err)
		}
	}
	late := append(bytes.Repeat([]byte("x"), sniffed), 0)
	if _, err := Text(late, late, late, Fine, Limits{}); err != nil {
		t.Errorf("NUL behind what git looks at: %v", err)
	}
	if _, err := Text(nil, []byte("12345"), nil, Fine, Limits{Bytes: 4}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit of bytes: %v", err)
	}
	if _, err := Diff([]byte("12345"), nil, Limits{Bytes: 4}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit of bytes: %v", err)
	}
}

// Texts made to be slow end with ErrTooLarge, not late: the count of steps is
// what bounds them, whatever the shape.
func TestWorkIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func(n int) []byte{
		"two letters at random": func(n int) []byte {
			var b bytes.Buffer
			for range n {
				fmt.Fprintf(&b, "%d\n", r.IntN(2))
			}
			return b.Bytes()
		},
		"the same lines in another order": func(n int) []byte {
			var b bytes.Buffer
			for _, i := range r.Perm(n) {
				fmt.Fprintf(&b, "%d\n", i)
			}
			return b.Bytes()
		},
	}
	for name, make := range shapes {
		a, b, c := make(20_000), make(20_000), make(20_000)
		const steps = 100_000
		if _, err := Text(a, b, c, Fine, Limits{Steps: steps}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		work := &budget{steps}
		d := newDictionary()
		compare(cut(a, d).class, cut(b, d).class, work)
		// One round of a search may go over, and is not longer than the texts.
		if work.left < -3*20_000 {
			t.Errorf("%s: %d steps too many", name, -work.left)
		}
	}
}

// A line of many megabytes and a text of one long line are lines like others.
func TestHugeLines(t *testing.T) {
	huge := bytes.Repeat([]byte("x"), 8<<20)
	base := append(append([]byte("a\n"), huge...), "\nz\n"...)
	ours := append([]byte("A\n"), base[2:]...)
	theirs := append(bytes.Clone(base[:len(base)-2]), "Z"...)
	got, ok := mustText(t, base, ours, theirs, Fine).Bytes()
	want := append(append([]byte("A\n"), huge...), "\nZ"...)
	if !ok || !bytes.Equal(got, want) {
		t.Errorf("merged %v, %d bytes", ok, len(got))
	}
}

func TestMarked(t *testing.T) {
	for text, want := range map[string]bool{
		"<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n":    true,
		"x\r\n<<<<<<<\r\n=======\r\n>>>>>>>":       true,
		"<<<<<<< a\n||||||| o\n=======\n>>>>>>> b": true,
		"title\n=======\n":                         false,
		" <<<<<<< a\n=======\n>>>>>>> b\n":         false,
		"<<<<<<<<\n========\n>>>>>>>>\n":           false,
		">>>>>>> b\n=======\n<<<<<<< a\n":          false,
		"<<<<<<< only\n":                           false,
		"":                                         false,
	} {
		if Marked([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
