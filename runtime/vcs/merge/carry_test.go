package merge

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// A file that was split into runs of its lines, and a change of it: the change
// carried to the parts makes the parts of the changed file.
func TestCarryMovesChanges(t *testing.T) {
	moved, lostSome := 0, 0
	for i := range 400 {
		r := rand.New(rand.NewPCG(uint64(i), 5))
		source := words(r, 10+r.IntN(40), 26)
		for j := range source { // no line twice: a change stands in one place
			source[j] = fmt.Appendf(nil, "%d\n", j)
		}
		changed := edit(r, source, 1+r.IntN(5), 10)
		var pieces []Piece
		for at := 0; at < len(source); {
			end := at + 1 + r.IntN(len(source)-at)
			pieces = append(pieces, Piece{Range{at, end}, fmt.Sprintf("part%d", len(pieces))})
			at = end
		}
		from, to := bytes.Join(source, nil), bytes.Join(changed, nil)
		parts, lost, err := Carry(pieces, from, to, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if len(lost) > 0 {
			lostSome++
			continue
		}
		moved++
		byPath := map[string][]byte{}
		for _, p := range parts {
			byPath[p.Path] = p.Theirs
		}
		var whole []byte
		for _, p := range pieces {
			if theirs, ok := byPath[p.Path]; ok {
				whole = append(whole, theirs...)
				continue
			}
			whole = append(whole, bytes.Join(source[p.Lines.Start:p.Lines.End], nil)...)
		}
		if !bytes.Equal(whole, to) {
			t.Fatalf("seed %d: carried %q, want %q", i, whole, to)
		}
	}
	if moved < 100 || lostSome < 20 {
		t.Errorf("%d moved, %d not: the test tests little", moved, lostSome)
	}
}

func TestCarrySaysWhatIsLost(t *testing.T) {
	source := []byte("a\nb\nc\nd\ne\n")
	pieces := []Piece{{Range{0, 2}, "one"}, {Range{3, 5}, "two"}}
	for _, c := range []struct {
		name, changed string
		lost          []Change
		parts         []Part
	}{
		{"in a piece", "a\nB\nc\nd\ne\n", nil, []Part{{"one", []byte("a\nb\n"), []byte("a\nB\n")}}},
		{"in no piece", "a\nb\nC\nd\ne\n", []Change{{Range{2, 3}, Range{2, 3}}}, nil},
		{"across", "a\nX\ne\n", []Change{{Range{1, 4}, Range{1, 2}}}, nil},
		{"at the end of a piece", "a\nb\nb2\nc\nd\ne\n", nil, []Part{{"one", []byte("a\nb\n"), []byte("a\nb\nb2\n")}}},
		{"both", "A\nb\nc\nd\nE\n", nil, []Part{{"one", []byte("a\nb\n"), []byte("A\nb\n")}, {"two", []byte("d\ne\n"), []byte("d\nE\n")}}},
	} {
		parts, lost, err := Carry(pieces, source, []byte(c.changed), Limits{})
		if err != nil || !reflect.DeepEqual(lost, c.lost) || !reflect.DeepEqual(parts, c.parts) {
			t.Errorf("%s: %q, lost %v, %v", c.name, parts, lost, err)
		}
	}
	for _, bad := range [][]Piece{
		{{Range{0, 9}, "x"}}, {{Range{2, 3}, "x"}, {Range{1, 2}, "y"}}, {{Range{3, 1}, "x"}}, {{Range{-1, 1}, "x"}},
	} {
		if _, _, err := Carry(bad, source, source, Limits{}); !errors.Is(err, ErrPieces) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A split is found again from its files, headers and all.
func TestTrace(t *testing.T) {
	source := "head\n\nfunc a {\n\tone\n}\n\nfunc b {\n\ttwo\n}\n\nfunc c {\n\tthree\n}\n"
	files := []File{
		{"a.go", []byte("head\n\nfunc a {\n\tone\n}\n")},
		{"c.go", []byte("new head\n\nfunc c {\n\tthree\n}\n")},
		{"b.go", []byte("new head\n\nfunc b {\n\ttwo\n}\n")},
	}
	pieces, err := Trace([]byte(source), files, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Piece{{Range{0, 5}, "a.go"}, {Range{5, 9}, "b.go"}, {Range{9, 13}, "c.go"}}
	if !reflect.DeepEqual(pieces, want) {
		t.Errorf("got %v, want %v", pieces, want)
	}
	if err := checkPieces(pieces, 13); err != nil {
		t.Error(err)
	}
}
