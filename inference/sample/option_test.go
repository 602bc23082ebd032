package sample

import (
	"errors"
	"math"
	"slices"
	"testing"

	"dure/inference"

	"pgregory.net/rapid"
)

// spelled is the definition of bias, penalties and DRY, written for the eye: the
// whole row after a history.
func spelled(row []float32, past []int32, p inference.Params, breaker map[int32]bool) []float32 {
	out := slices.Clone(row)
	for _, b := range p.LogitBias {
		out[b.Token] += b.Bias
		if b.Bias <= -100 {
			out[b.Token] = -inf
		}
	}
	window := func(n, standard int) []int32 {
		switch {
		case n < 0 || n > len(past):
			return past
		case n == 0:
			n = min(standard, len(past))
		}
		return past[len(past)-n:]
	}
	counts := map[int32]int{}
	for _, t := range window(p.Penalties.LastN, DefaultLastN) {
		counts[t]++
	}
	repeat := p.Penalties.Repeat
	if repeat == 0 {
		repeat = 1
	}
	for t, n := range counts {
		if out[t] > 0 {
			out[t] /= repeat
		} else {
			out[t] *= repeat
		}
		out[t] -= float32(n)*p.Penalties.Frequency + p.Penalties.Presence
	}
	if p.DRY.Multiplier == 0 {
		return out
	}
	for t, n := range repeats(window(p.DRY.LastN, len(past)), breaker) {
		if n >= p.DRY.AllowedLength && !breaker[t] {
			out[t] -= float32(float64(p.DRY.Multiplier) * math.Pow(float64(p.DRY.Base), float64(n-p.DRY.AllowedLength)))
		}
	}
	return out
}

// repeats is how many of the last tokens, back to a breaker, stand in front of
// each token somewhere earlier.
func repeats(past []int32, breaker map[int32]bool) map[int32]int {
	longest := map[int32]int{}
	for next := 1; next < len(past); next++ {
		n := 0
		for n < next && past[next-1-n] == past[len(past)-1-n] && !breaker[past[len(past)-1-n]] {
			n++
		}
		longest[past[next]] = max(longest[past[next]], n)
	}
	return longest
}

// letters is a vocabulary where token 0 is the only breaker of "#".
var letters = words{"#", "a", "b", "c", "d", "e", "f", "g"}

// TestChangedLogitsAreTheDefinitions draws histories of few tokens, so that they
// repeat, and windows that slide over them.
func TestChangedLogitsAreTheDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lastN := func(name string) int { return rapid.SampledFrom([]int{-1, 0, 1, 2, 5, 20}).Draw(t, name) }
		p := inference.Params{
			Temperature: 1, TopP: 1, TopK: rapid.IntRange(2, 8).Draw(t, "k"),
			Penalties: inference.Penalties{
				Repeat:    rapid.SampledFrom([]float32{0, 1, 0.5, 1.25}).Draw(t, "repeat"),
				Frequency: rapid.SampledFrom([]float32{0, -0.5, 1.5}).Draw(t, "frequency"),
				Presence:  rapid.SampledFrom([]float32{0, -2, 0.25}).Draw(t, "presence"),
				LastN:     lastN("last_n"),
			},
			DRY: inference.DRY{
				Multiplier: rapid.SampledFrom([]float32{0, 0.5, 2}).Draw(t, "multiplier"), Base: 1.5,
				AllowedLength: rapid.IntRange(1, 4).Draw(t, "allowed"), LastN: lastN("dry_last_n"), Breakers: []string{"#"},
			},
		}
		for _, token := range rapid.SliceOfNDistinct(rapid.Int32Range(0, 7), 0, 4, rapid.ID[int32]).Draw(t, "biased") {
			p.LogitBias = append(p.LogitBias, inference.TokenBias{Token: token, Bias: rapid.SampledFrom([]float32{-100, -3, 0, 4}).Draw(t, "bias")})
		}
		s, err := New(p, letters)
		if err != nil {
			t.Fatal(err)
		}
		// Long enough for the slack of short windows to be thrown out.
		unit := rapid.SliceOfN(rapid.Int32Range(0, 7), 1, 40).Draw(t, "past")
		past := slices.Repeat(unit, rapid.SampledFrom([]int{1, 2, 30}).Draw(t, "times"))
		s.Prompt(past[:len(past)/2])
		for _, token := range past[len(past)/2:] {
			s.Accept(token)
		}
		row := rapid.SliceOfN(rapid.Float32Range(-9, 9), 8, 8).Draw(t, "row")
		want := reference(spelled(row, past, p, map[int32]bool{0: true}), p)
		got, err := s.Distribution(row)
		if len(want) == 0 && errors.Is(err, ErrNoToken) {
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, error %v, want %v", got, err, want)
		}
		for _, c := range got {
			if math.Abs(math.Exp(float64(c.Logprob))-want[c.Token]) > 1e-4 {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

// TestSuffixesAreTheDefinitions uses two tokens only: everything repeats.
func TestSuffixesAreTheDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Int32Range(0, 1), 1, 200).Draw(t, "tokens")
		lengths := make([]int32, len(tokens))
		suffixes(tokens, lengths)
		last := len(tokens) - 1
		for i := range last {
			n := 0
			for n <= i && tokens[i-n] == tokens[last-n] {
				n++
			}
			if int(lengths[i]) != n {
				t.Fatalf("%d tokens up to %d equal the end, want %d", lengths[i], i, n)
			}
		}
	})
}

// TestChangesAreATable compares the table with a map under any operations.
func TestChangesAreATable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := newChanges(inference.Params{}, nil), map[int32]int32{}
		// Few homes, so that entries crowd and move.
		token := rapid.Int32Range(0, 200)
		for range rapid.IntRange(1, 600).Draw(t, "n") {
			k := token.Draw(t, "token")
			if want[k] > 0 && rapid.Bool().Draw(t, "down") {
				want[k]--
				table.at(k).count--
				table.tidy(k)
			} else {
				want[k]++
				table.at(k).count++
			}
		}
		used := 0
		for k, n := range want {
			if table.has(k) != (n > 0) || n > 0 && table.at(k).count != n {
				t.Fatalf("token %d: has %v, want count %d", k, table.has(k), n)
			}
			if n > 0 {
				used++
			}
		}
		if table.used != used {
			t.Fatalf("%d entries, want %d", table.used, used)
		}
	})
}

func TestBreakersAreFoundAcrossTokens(t *testing.T) {
	v := words{"x", "ab", "b", "cd", "abc", "za", "bc", "d", "xabcd", "c", "a"}
	b, err := findBreakers([]string{"abcd"}, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tokens []int32
		want   bool
	}{
		{[]int32{8}, true},       // holds it whole
		{[]int32{1, 3}, true},    // ab cd
		{[]int32{4, 7}, true},    // abc d
		{[]int32{5, 6, 7}, true}, // za bc d
		{[]int32{10, 6, 7}, true},
		{[]int32{5, 6}, false},    // not complete
		{[]int32{1, 9, 7}, false}, // not how the tokeniser splits the rest
		{[]int32{0}, false},
		{[]int32{2}, false}, // b only ends with a later part of it
		{[]int32{-1}, false},
		{[]int32{math.MaxInt32}, false},
	} {
		if got := b.match(c.tokens); got != c.want {
			t.Errorf("%v: %v", c.tokens, got)
		}
	}
}

func TestTypicalKeepsTheNearestToTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SliceOfNDistinct(rapid.Float32Range(-8, 8), 1, 60, rapid.ID[float32]).Draw(t, "row")
		slices.SortFunc(row, func(a, b float32) int { return int(math.Copysign(1, float64(b-a))) })
		p := rapid.Float64Range(0.01, 0.99).Draw(t, "p")
		var c []candidate
		sum := 0.0
		for i, v := range row {
			c = append(c, candidate{v, int32(i)})
			sum += math.Exp(float64(v))
		}
		mean := 0.0
		probability := func(v float32) float64 { return math.Exp(float64(v)) / sum }
		for _, v := range row {
			mean -= probability(v) * math.Log(probability(v))
		}
		distance := func(v float32) float64 { return math.Abs(-math.Log(probability(v)) - mean) }
		kept := keepTypical(slices.Clone(c), p, nil)
		total, farthest, least := 0.0, 0.0, 1.0
		for i, x := range kept {
			if i > 0 && x.token <= kept[i-1].token {
				t.Fatalf("order changed: %v", kept)
			}
			total += probability(x.logit)
			farthest = max(farthest, distance(x.logit))
		}
		for _, x := range kept {
			if distance(x.logit) > farthest-1e-6 {
				least = probability(x.logit)
			}
		}
		for _, x := range c {
			if !slices.Contains(kept, x) && distance(x.logit) < farthest-1e-6 {
				t.Fatalf("%v is left out, farther ones are kept: %v", x, kept)
			}
		}
		if len(kept) < len(c) && total <= p-1e-9 || total-least > p+1e-6 {
			t.Fatalf("kept %v of probability for %v", total, p)
		}
	})
}

func TestXTCDropsAllButTheLeastOfTheTop(t *testing.T) {
	// Probabilities 0.4, 0.3, 0.2, 0.1.
	row := []float32{0, 0, 0, 0}
	for i, x := range []float64{0.1, 0.4, 0.2, 0.3} {
		row[i] = float32(math.Log(x))
	}
	for _, c := range []struct {
		probability, threshold float32
		want                   []int32
	}{
		{1, 0.15, []int32{2, 0}},
		{1, 0.25, []int32{3, 2, 0}},
		{1, 0.35, []int32{1, 3, 2, 0}}, // only one is above
		{1, 0.45, []int32{1, 3, 2, 0}}, // none is
		{1, 0, []int32{0}},
		{1, 0.51, []int32{1, 3, 2, 0}},
		{0, 0.1, []int32{1, 3, 2, 0}},
	} {
		s := must(t, inference.Params{Temperature: 1, TopP: 1, XTC: inference.XTC{Probability: c.probability, Threshold: c.threshold}})
		var got []int32
		for _, x := range s.survivors(row) {
			got = append(got, x.token)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v survive", c, got)
		}
	}
	// With a probability between, it acts about that often.
	s, acted := must(t, inference.Params{Temperature: 1, TopP: 1, XTC: inference.XTC{Probability: 0.3, Threshold: 0.05}}), 0
	for range 10_000 {
		if len(s.survivors(row)) == 1 {
			acted++
		}
	}
	if acted < 2850 || acted > 3150 { // three standard deviations
		t.Errorf("acted %d times of 10,000, want about 3,000", acted)
	}
}

// TestGreedyAfterChanges: at temperature 0 the likeliest is taken of what bias,
// penalties, typical and XTC leave.
func TestGreedyAfterChanges(t *testing.T) {
	row := []float32{1, 5, 4, 3, -9, 0, 0, 0}
	banned := []inference.TokenBias{{Token: 1, Bias: -100}}
	for _, c := range []struct {
		name string
		p    inference.Params
		want int32
	}{
		{"ban", inference.Params{LogitBias: banned}, 2},
		{"ban, top_k 1", inference.Params{LogitBias: banned, Temperature: 1, TopK: 1}, 2},
		{"boost", inference.Params{LogitBias: []inference.TokenBias{{Token: 4, Bias: 100}}}, 4},
		{"to a tie", inference.Params{LogitBias: []inference.TokenBias{{Token: 0, Bias: 4}}}, 0},
		{"presence", inference.Params{Penalties: inference.Penalties{Presence: 1.5}}, 2},
		{"repeat", inference.Params{Penalties: inference.Penalties{Repeat: 2}}, 2},
		{"xtc", inference.Params{XTC: inference.XTC{Probability: 1, Threshold: 0.2}}, 2},
		{"mirostat", inference.Params{Mirostat: inference.Mirostat{Version: 2}, LogitBias: banned}, 2},
	} {
		c.p.TopP = 1
		s, err := New(c.p, letters)
		if err != nil {
			t.Fatal(err)
		}
		s.Prompt([]int32{1})
		if got, err := s.Sample(row); err != nil || got != c.want {
			t.Errorf("%s: token %d, error %v; want %d", c.name, got, err, c.want)
		}
	}
	all := inference.Params{Temperature: 1, TopP: 1}
	for i := range letters {
		all.LogitBias = append(all.LogitBias, inference.TokenBias{Token: int32(i), Bias: -inf})
	}
	s, err := New(all, letters)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(row); !errors.Is(err, ErrNoToken) {
		t.Errorf("all tokens banned: %v", err)
	}
}

// TestMirostatHoldsTheSurprise: whatever the row, the mean surprise of what is
// drawn comes to be tau where the row allows it.
func TestMirostatHoldsTheSurprise(t *testing.T) {
	row := rows(1000)["normal"]
	for version := 1; version <= 2; version++ {
		for _, tau := range []float32{1, 2.5, 4} {
			s := must(t, inference.Params{Temperature: 1, TopP: 1, Mirostat: inference.Mirostat{Version: version, Tau: tau}})
			mean := 0.0
			const n = 1500
			for range n {
				_, p := s.draw(s.survivors(row))
				s.mirostat.observe(p)
				mean -= math.Log2(p) / n
			}
			if math.Abs(mean-float64(tau)) > 0.1 {
				t.Errorf("version %d, tau %v: mean surprise %v bits", version, tau, mean)
			}
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	p := inference.Params{Temperature: 1, TopP: 1, Penalties: inference.Penalties{Presence: 1, LastN: 8}, DRY: inference.DRY{Multiplier: 1, LastN: 100}}
	s, err := New(p, words{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(100_000) {
		s.Accept(i)
	}
	if cap(s.history.tokens) > 2000 || s.changes.used != 8 || len(s.changes.slots) > 64 || len(s.dry.lengths) > 100 {
		t.Errorf("room for %d tokens, %d of %d changes, %d lengths", cap(s.history.tokens), s.changes.used, len(s.changes.slots), len(s.dry.lengths))
	}
}
