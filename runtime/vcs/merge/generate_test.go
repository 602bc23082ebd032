package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// generate makes a base and two edits of it. The kinds aim at what a comparison
// decides by rule of thumb: lines that repeat, changes that can slide, files so
// different that the search gives up, common lines amid strange ones, line ends.
func generate(r *rand.Rand) triple {
	kinds := []struct {
		name   string
		weight int
		make   func(*rand.Rand) triple
	}{
		{"letters", 30, func(r *rand.Rand) triple {
			return edited(r, words(r, r.IntN(30), 1+r.IntN(6)), 1+r.IntN(6), 1+r.IntN(6))
		}},
		{"code", 30, func(r *rand.Rand) triple { return edited(r, code(r, 5+r.IntN(60)), 1+r.IntN(8), 1000) }},
		{"ends", 15, func(r *rand.Rand) triple { return lineEnds(r, edited(r, words(r, r.IntN(12), 4), 1+r.IntN(4), 4)) }},
		{"moves", 10, func(r *rand.Rand) triple { return moved(r, code(r, 20+r.IntN(80))) }},
		{"strangers", 6, func(r *rand.Rand) triple {
			a, b, c := 1+r.IntN(20), 1+r.IntN(20), 1+r.IntN(20)
			return join(words(r, a, 8), words(r, b, 8), words(r, c, 8))
		}},
		{"long", 5, func(r *rand.Rand) triple { return edited(r, code(r, 300+r.IntN(1500)), 20+r.IntN(400), 1000) }},
		{"shuffled", 3, func(r *rand.Rand) triple { return shuffled(r) }},
		{"bytes", 1, func(r *rand.Rand) triple { return edited(r, raw(r), 1+r.IntN(4), 6) }},
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	at := r.IntN(total)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			t := k.make(r)
			t.kind = k.name
			return t
		}
	}
	panic("no kind")
}

func words(r *rand.Rand, n, alphabet int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = fmt.Appendf(nil, "%c\n", 'a'+r.IntN(alphabet))
	}
	return out
}

// code has lines that repeat (blank, braces) among lines that hardly do.
func code(r *rand.Rand, n int) [][]byte {
	repeat := []string{"\n", "}\n", "\t}\n", "\treturn nil\n", "//\n", "\tif err != nil {\n"}
	out := make([][]byte, n)
	for i := range out {
		if r.IntN(5) < 2 {
			out[i] = []byte(repeat[r.IntN(len(repeat))])
			continue
		}
		out[i] = fmt.Appendf(nil, "\tline %d\n", r.IntN(2*n))
	}
	return out
}

func raw(r *rand.Rand) [][]byte {
	out := make([][]byte, r.IntN(12))
	for i := range out {
		line := make([]byte, r.IntN(6))
		for j := range line {
			if line[j] = byte(r.IntN(256)); line[j] == '\n' || line[j] == 0 && r.IntN(20) > 0 {
				line[j] = 0xff
			}
		}
		out[i] = append(line, '\n')
	}
	return out
}

// edited lets both sides edit a base: replace, delete, insert and repeat.
func edited(r *rand.Rand, base [][]byte, edits, alphabet int) triple {
	ours := edit(r, base, edits, alphabet)
	theirs := edit(r, base, edits, alphabet)
	if r.IntN(4) == 0 { // both sides share a change
		both := edit(r, base, 1+edits/2, alphabet)
		ours, theirs = edit(r, both, edits/2, alphabet), edit(r, both, edits/2, alphabet)
	}
	return join(base, ours, theirs)
}

func edit(r *rand.Rand, in [][]byte, edits, alphabet int) [][]byte {
	out := append([][]byte(nil), in...)
	for range edits {
		at := r.IntN(len(out) + 1)
		n := min(1+r.IntN(3), len(out)-at)
		var with [][]byte
		switch r.IntN(4) {
		case 0: // delete
		case 1, 2:
			with = words(r, 1+r.IntN(3), min(alphabet, 26))
			if alphabet > 26 {
				with = code(r, 1+r.IntN(4))
			}
			if r.IntN(2) == 0 {
				n = 0
			}
		default: // say what stands there again
			with = append(with, out[at:at+n]...)
			n = 0
		}
		next := append([][]byte(nil), out[:at]...)
		out = append(append(next, with...), out[at+n:]...)
	}
	return out
}

func moved(r *rand.Rand, base [][]byte) triple {
	move := func() [][]byte {
		from := r.IntN(len(base))
		to := from + 1 + r.IntN(min(15, len(base)-from))
		rest := append(append([][]byte(nil), base[:from]...), base[to:]...)
		at := r.IntN(len(rest) + 1)
		out := append(append([][]byte(nil), rest[:at]...), base[from:to]...)
		return edit(r, append(out, rest[at:]...), r.IntN(3), 1000)
	}
	return join(base, move(), move())
}

// shuffled makes long files with the same lines in other orders, for which the
// shortest edit is not worth its search.
func shuffled(r *rand.Rand) triple {
	base := code(r, 600+r.IntN(1800))
	mix := func() [][]byte {
		out := append([][]byte(nil), base...)
		block := []int{1, 5, 30, 60}[r.IntN(4)]
		if r.IntN(3) == 0 { // far from home
			for range len(out) / block / 2 {
				i, j := r.IntN(len(out)-block+1), r.IntN(len(out)-block+1)
				for k := range block {
					out[i+k], out[j+k] = out[j+k], out[i+k]
				}
			}
			return out
		}
		for i := range len(out) - 8 { // near home
			j := i + r.IntN(8)
			out[i], out[j] = out[j], out[i]
		}
		return out
	}
	return join(base, mix(), edit(r, mix(), 1+r.IntN(30), 1000))
}

func join(base, ours, theirs [][]byte) triple {
	return triple{base: bytes.Join(base, nil), ours: bytes.Join(ours, nil), theirs: bytes.Join(theirs, nil)}
}

// lineEnds gives sides carriage returns and takes last newlines.
func lineEnds(r *rand.Rand, t triple) triple {
	for _, side := range []*[]byte{&t.base, &t.ours, &t.theirs} {
		if r.IntN(3) == 0 {
			*side = bytes.ReplaceAll(*side, []byte("\n"), []byte("\r\n"))
		}
		if r.IntN(3) == 0 && len(*side) > 0 {
			*side = bytes.TrimRight(*side, "\r\n")
		}
	}
	if r.IntN(4) == 0 {
		t.ours = bytes.ReplaceAll(t.ours, []byte("b\n"), []byte("b\r\n"))
	}
	return t
}
