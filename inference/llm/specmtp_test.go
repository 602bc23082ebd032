package llm_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

// startMTP serves a qwen35 whose own layers guess so many tokens, in each step whether
// that pays or not, or where it pays where force is not set. Depth 0 is without.
func startMTP(t *testing.T, path string, depth int, force bool, change func(*llm.Config)) *llm.LLM {
	t.Helper()
	m, err := enginetest.Library(t).LoadModel(t.Context(), engine.LoadOptions{Path: path, MTP: depth > 0})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	cfg := llm.Config{Name: "test", Context: 512, Sequences: 2, Queue: 8, Threads: 1, FlashAttention: engine.FlashOff, Planned: true}
	if depth > 0 {
		cfg.Speculation, cfg.MTP = llm.SpeculationMTP, depth
	}
	if force {
		cfg.GuessDepth = depth
	}
	if change != nil {
		change(&cfg)
	}
	if cfg, _, err = llm.Derive(cfg, m.Facts(), 1<<30); err != nil {
		t.Fatal(err)
	}
	l, err := llm.New(m, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// The three kinds of models: whose guesses are nearly all wrong, all right, and both.
var mtpModels = []struct {
	name        string
	cfg         synth.Config
	least, most float64 // of the guesses are right
}{
	{"random", synth.Config{Context: 512, MTP: 1}, 0, 0.2},
	{"chain", synth.Config{Context: 512, MTP: 1, Chain: true}, 0.99, 1},
	{"both", synth.Config{Context: 512, MTP: 1, Chain: true, Noise: 1}, 0.2, 0.95},
}

// Greedy answers are those without guesses, row by row, in both pools, with four at
// once, whether guesses are taken or refused.
func TestMTPDoesNotChangeGreedyAnswers(t *testing.T) {
	for _, m := range mtpModels {
		path := synthetic(t, synth.Qwen35, m.cfg)
		for _, unified := range []bool{false, true} {
			t.Run(fmt.Sprint(m.name, " unified ", unified), func(t *testing.T) {
				seen := &tap{rows: map[string]map[int][]float32{}}
				var all inference.Usage
				for _, depth := range []int{0, 1, 3} {
					l := startMTP(t, path, depth, true, func(c *llm.Config) {
						c.Sequences, c.Unified = 4, unified
						c.Tap = func(id string, pos int, logits []float32) { seen.see(fmt.Sprint(id, " ", depth), pos, logits) }
					})
					u := four(t, l, 40)
					all.DraftedTokens, all.AcceptedTokens = all.DraftedTokens+u.DraftedTokens, all.AcceptedTokens+u.AcceptedTokens
				}
				if got := float64(all.AcceptedTokens) / float64(all.DraftedTokens); all.DraftedTokens < 100 || got < m.least || got > m.most {
					t.Errorf("%d of %d guesses were right", all.AcceptedTokens, all.DraftedTokens)
				}
				for i := range 4 {
					for _, depth := range []int{1, 3} {
						compareUntilTheyMayPart(t, seen.rows[fmt.Sprint(i, " ", depth)], seen.rows[fmt.Sprint(i, " 0")], func(t *testing.T, a, b []float32) bool {
							if d := maxDiff(a, b); d > 2e-3 {
								t.Errorf("logits differ by %g", d)
							}
							return top2Gap(a) > 2e-3
						})
					}
				}
			})
		}
	}
}

// four asks for four answers at once.
func four(t *testing.T, l *llm.LLM, tokens int) (sum inference.Usage) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range 4 {
		wg.Go(func() {
			r := ask(fmt.Sprint(i), fmt.Sprint(i, " ", repeated), tokens+i)
			r.Params.IgnoreEOS = true
			a, err := collect(t.Context(), l, r)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.DraftedTokens += a.usage.DraftedTokens
			sum.AcceptedTokens += a.usage.AcceptedTokens
			sum.CompletionTokens += a.usage.CompletionTokens
		})
	}
	wg.Wait()
	return sum
}

// sampled runs a request at a temperature and returns its tokens.
func sampled(t *testing.T, l *llm.LLM, tokens int, p inference.Params) (drew []int32, usage inference.Usage) {
	t.Helper()
	r := ask("a", repeated, tokens)
	p.MaxTokens, p.IgnoreEOS, p.Logprobs = tokens, true, true
	r.Params = p
	for ev, err := range l.Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range ev.Logprobs {
			drew = append(drew, x.Token)
		}
		if ev.Usage != nil {
			usage = *ev.Usage
		}
	}
	return drew, usage
}

// The same seed draws the same tokens.
func TestSeedsMeanTheSameWithMTP(t *testing.T) {
	for _, m := range mtpModels {
		path := synthetic(t, synth.Qwen35, m.cfg)
		p := inference.Params{Temperature: 0.6, TopP: 0.9, Seed: 3}
		want, _ := sampled(t, startMTP(t, path, 0, false, nil), 60, p)
		got, usage := sampled(t, startMTP(t, path, 3, true, nil), 60, p)
		if len(got) != 60 || !slices.Equal(got, want) || usage.DraftedTokens == 0 {
			t.Errorf("%s: drew %v with %d guesses, without %v", m.name, got, usage.DraftedTokens, want)
		}
	}
}

// What follows what is drawn as often as the model says, where guesses are right now and
// then: chi-square of how far behind a token the next one is, for a model in which only
// the token before counts.
func TestDistributionWithMTPIsTheModels(t *testing.T) {
	const tokens, bins = 2000, 8
	expected := make([]float64, bins) // the likeliest of each row, by rank, and all others
	ranks := map[int][]int{}
	path := synthetic(t, synth.Qwen35, synth.Config{Context: 4096, MTP: 1, Chain: true})
	const temperature = 4
	l := startMTP(t, path, 3, true, func(c *llm.Config) {
		c.Context = 2500
		c.Tap = func(_ string, pos int, logits []float32) { ranks[pos] = rank(logits, expected, temperature) }
	})
	drew, usage := sampled(t, l, tokens, inference.Params{Temperature: temperature, TopP: 1, TopK: 1024, Seed: 11})
	if usage.AcceptedTokens < tokens/10 || usage.AcceptedTokens > usage.DraftedTokens*9/10 {
		t.Fatalf("%d of %d guesses taken: it takes both kinds", usage.AcceptedTokens, usage.DraftedTokens)
	}
	var seen [bins]float64
	begin := slices.Min(keys(ranks))
	for i, token := range drew {
		at := slices.Index(ranks[begin+i], int(token))
		if at < 0 {
			at = bins - 1
		}
		seen[at]++
	}
	chi := 0.0
	for i, want := range expected {
		chi += (seen[i] - want) * (seen[i] - want) / want
	}
	t.Logf("chi-square %.1f, %d of %d guesses taken", chi, usage.AcceptedTokens, usage.DraftedTokens)
	if chi > 24.3 { // p = 0.001 at 7 degrees of freedom
		t.Errorf("chi-square %.1f: drawn %v, expected %.0f", chi, seen, expected)
	}
}

// rank returns the likeliest tokens of a row, and adds to how often each rank, and all
// others together, are expected.
func rank(logits []float32, expected []float64, temperature float64) []int {
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, float64(logits[b]-logits[a]))) })
	var sum float64
	p := make([]float64, len(order))
	for i, token := range order {
		p[i] = math.Exp(float64(logits[token]-logits[order[0]]) / temperature)
		sum += p[i]
	}
	for i := range p {
		expected[min(i, len(expected)-1)] += p[i] / sum
	}
	return order[:len(expected)-1]
}

func keys[V any](m map[int]V) (all []int) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// As many guesses are right as a block that reads the whole text, token by token with
// the row before it, gets right.
func TestMTPGuessesAreThoseOfTheWholeText(t *testing.T) {
	cfg := mtpModels[2].cfg
	cfg.Context = 1024
	path := synthetic(t, synth.Qwen35, cfg)
	var prompt []int32
	for i := range int32(700) { // two chunks
		prompt = append(prompt, 260+i*7%200)
	}
	l := startMTP(t, path, 1, true, func(c *llm.Config) { c.Context = 1024 })
	r := &inference.Request{ID: "a", Prompt: &inference.Prompt{Tokens: prompt}, Params: inference.Params{
		MaxTokens: 200, Temperature: 1.5, TopP: 1, Seed: 5, IgnoreEOS: true, Logprobs: true,
	}}
	text, accepted, drafted := slices.Clone(prompt), 0, 0
	for ev, err := range l.Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range ev.Logprobs {
			text = append(text, x.Token)
		}
		if ev.Usage != nil {
			drafted, accepted = ev.Usage.DraftedTokens, ev.Usage.AcceptedTokens
		}
	}
	guesses := wholeText(t, path, text)
	right, asked := 0, 0
	for place := len(prompt); place < len(text)-1; place++ {
		if asked++; guesses[place] == text[place+1] {
			right++
			place++
		}
	}
	t.Logf("%d of %d right", accepted, drafted)
	if d := right - accepted; d < -1 || d > 1 || accepted < 10 || accepted > drafted-10 {
		t.Errorf("%d of %d guesses right, a block that reads the whole text gets %d of %d", accepted, drafted, right, asked)
	}
}

// wholeText returns for each place of a text what the block for further tokens expects
// behind it.
func wholeText(t *testing.T, path string, text []int32) (guesses []int32) {
	t.Helper()
	m, err := enginetest.Library(t).LoadModel(t.Context(), engine.LoadOptions{Path: path, MTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	opt := engine.ContextOptions{Cells: 1024, Sequences: 1, Batch: 1024, MicroBatch: 1024, Outputs: 1024, Threads: 1, FlashAttention: engine.FlashOff}
	c, err := m.NewContext(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mtp, err := m.NewMTPContext(c, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mtp.Close()
	b, more := c.NewBatch(), mtp.NewBatch()
	defer b.Close()
	defer more.Close()
	for i, token := range text {
		if err := b.Add(token, i, 0, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Decode(b); err != nil {
		t.Fatal(err)
	}
	before := make([]float32, mtp.Width())
	for i, token := range text {
		if err := more.Add(token, before, i, 0, true); err != nil {
			t.Fatal(err)
		}
		if before, err = c.Hidden(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := mtp.Decode(more); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		row, err := mtp.Logits(i)
		if err != nil {
			t.Fatal(err)
		}
		guesses = append(guesses, int32(argmax(row)))
	}
	return guesses
}

// Sessions that come and go, more than there are sequences, fork, and are put aside in
// memory, answer as without guesses.
func TestMTPFollowsSessions(t *testing.T) {
	for _, m := range mtpModels {
		path := synthetic(t, synth.Qwen35, m.cfg)
		for _, unified := range []bool{false, true} {
			turns := func(depth int) (texts []string, sum inference.Usage) {
				l := startMTP(t, path, depth, true, func(c *llm.Config) { c.Unified, c.CacheRAM = unified, 64<<20 })
				common := []inference.Message{{Role: inference.RoleUser, Content: repeated}}
				said := map[string][]inference.Message{}
				for i := range 9 {
					session := fmt.Sprint(i % 3)
					if said[session] == nil {
						said[session] = slices.Clone(common)
					} else {
						said[session] = append(said[session], inference.Message{Role: inference.RoleUser, Content: session + " eight; one"})
					}
					a := mustCollect(t, l, asked(session, slices.Clone(said[session]), 19))
					said[session] = append(said[session], inference.Message{Role: inference.RoleAssistant, Content: a.text})
					texts = append(texts, a.text)
					sum.CachedTokens += a.usage.CachedTokens
					sum.DraftedTokens += a.usage.DraftedTokens
					sum.AcceptedTokens += a.usage.AcceptedTokens
				}
				return texts, sum
			}
			want, plain := turns(0)
			got, sum := turns(3)
			if !slices.Equal(got, want) {
				t.Errorf("%s, unified %v: got %q, without guesses %q", m.name, unified, got, want)
			}
			right := float64(sum.AcceptedTokens) / float64(sum.DraftedTokens)
			if sum.CachedTokens != plain.CachedTokens || sum.DraftedTokens < 50 || right < m.least || right > m.most {
				t.Errorf("%s, unified %v: %+v, without guesses %+v", m.name, unified, sum, plain)
			}
		}
	}
}

// An answer that is left in the middle, and requests that give their place to a more
// urgent one, disturb nobody.
func TestMTPWithCancelsAndParking(t *testing.T) {
	path := synthetic(t, synth.Qwen35, mtpModels[2].cfg)
	want := four(t, startMTP(t, path, 0, false, func(c *llm.Config) { c.Sequences = 4 }), 40)
	for _, unified := range []bool{false, true} {
		l := startMTP(t, path, 3, true, func(c *llm.Config) { c.Sequences, c.Unified = 2, unified })
		texts := func() (all []string) {
			for i := range 3 {
				r := ask(fmt.Sprint("calm", i), fmt.Sprint(i, " ", repeated), 30)
				r.Params.IgnoreEOS = true
				all = append(all, mustCollect(t, l, r).text)
			}
			return all
		}
		calm := texts()
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() { // each leaves after some tokens
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := ask(fmt.Sprint("gone", i), fmt.Sprint(i, " ", repeated), 100)
				r.Params.IgnoreEOS, r.Caller.Priority = true, inference.PriorityBackground
				n := 0
				for _, err := range l.Generate(ctx, r) {
					if n++; err != nil || n > 3+2*i {
						cancel()
					}
				}
			})
		}
		busy := texts()
		wg.Wait()
		if !slices.Equal(busy, calm) {
			t.Errorf("unified %v: got %q beside others, alone %q", unified, busy, calm)
		}
		if got := four(t, l, 40); got.CompletionTokens != want.CompletionTokens {
			t.Errorf("unified %v: %d tokens afterwards, want %d", unified, got.CompletionTokens, want.CompletionTokens)
		}
	}
}

// Where it does not pay nothing is guessed, and what was not read meanwhile is read
// when it is.
func TestMTPIsUsedWhereItPays(t *testing.T) {
	path := synthetic(t, synth.Qwen35, mtpModels[1].cfg)
	l := startMTP(t, path, 3, false, func(c *llm.Config) { c.Sequences = 4 })
	if u := four(t, l, 150); u.CompletionTokens != 606 {
		t.Errorf("%+v", u)
	}
	s := l.Stats()
	if s.AcceptedTokens > s.DraftedTokens || s.DecodedTokens < 600 {
		t.Errorf("%+v", s)
	}
	var mtp llm.Memory
	for _, m := range s.Memory {
		if m.Part == llm.PartMTP {
			mtp.Cache, mtp.Compute = mtp.Cache+m.Cache, mtp.Compute+m.Compute
		}
	}
	if want := uint64(4 * 512 * 2 * 64 * 2); mtp.Cache != want || mtp.Compute == 0 { // keys and values of one head of 64, in halves
		t.Errorf("memory of the layers: %+v, want %d of cells", mtp, want)
	}
}

func TestMTPIsRefusedWhereItCannotBe(t *testing.T) {
	f := engine.Facts{TrainContext: 4096, Hybrid: true, Vocabulary: 1000, Architecture: "qwen35", MTP: 1}
	other := f
	other.Architecture = "mamba"
	none := f
	none.MTP = 0
	for _, tc := range []struct {
		name  string
		cfg   llm.Config
		facts engine.Facts
		want  string // in the error; "" is none
	}{
		{"taken", llm.Config{Speculation: llm.SpeculationMTP, MTP: 3}, f, ""},
		{"auto", llm.Config{Speculation: llm.SpeculationAuto, MTP: 2}, f, ""},
		{"no depth", llm.Config{Speculation: llm.SpeculationMTP}, f, "no tokens to guess"},
		{"no layers", llm.Config{MTP: 3}, none, "no layers"},
		{"another architecture", llm.Config{MTP: 3}, other, "mamba"},
		{"too deep", llm.Config{MTP: 64}, f, "MTP depth 64"},
		{"two that guess", llm.Config{MTP: 3, Draft: &engine.Model{}}, f, "both guess"},
	} {
		tc.cfg.Planned, tc.cfg.Sequences = true, 4
		got, _, err := llm.Derive(tc.cfg, tc.facts, 1<<30)
		switch {
		case tc.want != "":
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.name, err)
			}
		case err != nil || got.Rollback != got.MTP || got.Outputs != 4*(1+got.MTP):
			t.Errorf("%s: rollback %d, %d rows, %v", tc.name, got.Rollback, got.Outputs, err)
		}
	}
}
