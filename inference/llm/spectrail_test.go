package llm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dure/inference/engine"
	"dure/kvcache"
)

// rowOf is the hidden row behind a text: any text has its own.
func rowOf(text []engine.Token) []float32 {
	h := float32(len(text))
	for _, t := range text {
		h = float32(int(h*7+float32(t)) % 100003)
	}
	return []float32{h, float32(len(text))}
}

// Whatever requests come, go and go back: what is read of a place is the token there
// and the row of the place before, and no place is read twice that was not taken back.
func TestTrailReadsEachTokenWithTheRowBeforeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := trail{width: 2}
		var text []engine.Token // of the request, as far as the model computed it
		lease := kvcache.LeaseID(0)
		tokens := rapid.SliceOfN(rapid.Int32Range(0, 2), 1, 5)
		follow := func(more []engine.Token) {
			x.keep(len(text), more)
			for i := range more {
				x.rows = append(x.rows, rowOf(append(slices.Clone(text), more[:i+1]...))...)
			}
			text = append(text, more...)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"enter", "follow", "follow", "read"}).Draw(t, "what") {
			case "enter":
				lease++
				cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
				text = slices.Clone(text[:cut])
				if rapid.Bool().Draw(t, "other") {
					text = append(text, tokens.Draw(t, "restored")...)
				}
				x.enter(lease, text)
			case "follow":
				follow(tokens.Draw(t, "computed"))
			case "read":
				from, end := x.from(), x.from()+rapid.IntRange(0, x.due()).Draw(t, "of what is due")
				if from < x.end && x.due() > 0 {
					t.Fatalf("place %d is read again, %d were", from, x.end)
				}
				for place := from; place < end; place++ {
					want := rowOf(text[:place])
					if place == 0 {
						want = []float32{0, 0}
					}
					if got := x.row(place - 1); !slices.Equal(got, want) || x.text[place] != text[place] {
						t.Fatalf("place %d: row %v, want %v", place, got, want)
					}
				}
				x.read(end)
			}
			if !slices.Equal(x.text, text) {
				t.Fatalf("text %v, want %v", x.text, text)
			}
			if len(x.rows) > 0 && x.behind() != len(text) {
				t.Fatalf("rows up to %d of a text of %d", x.behind(), len(text))
			}
			if len(x.rows) > 0 && len(text) > 0 {
				if want := rowOf(text); !slices.Equal(x.row(len(text)-1), want) {
					t.Fatalf("last row %v, want %v", x.row(len(text)-1), want)
				}
			}
		}
	})
}
