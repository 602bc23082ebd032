package llm_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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

// drafting has a draft model guess so many tokens in each step, right or wrong.
func drafting(t *testing.T, path string, depth int) func(*llm.Config) {
	return func(c *llm.Config) {
		if depth > 0 {
			c.Draft, c.GuessDepth, c.Outputs = enginetest.Load(t, path), depth, 64
		}
	}
}

// another is a smaller model with the same vocabulary, which is right by chance.
func another(t *testing.T) string {
	return enginetest.Llama(t, synth.Config{Layers: 1, Seed: 77, Context: 512})
}

// Greedy answers are those without a draft model, row by row, in both pools, with
// four at once: where the draft is the model itself and where it is another one.
func TestDraftsDoNotChangeGreedyAnswers(t *testing.T) {
	model := enginetest.Llama(t, synth.Config{Context: 512})
	for _, tc := range []struct {
		name, draft string
		unified     bool
		least, most float64 // of the guesses are right
	}{
		{"itself, split", model, false, 0.95, 1},
		{"itself, unified", model, true, 0.95, 1},
		{"another, split", another(t), false, 0, 0.5},
		{"another, unified", another(t), true, 0, 0.5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seen := &tap{rows: map[string]map[int][]float32{}}
			var all inference.Usage
			var mu sync.Mutex
			for _, depth := range []int{0, 1, 4} {
				l := start(t, model, func(c *llm.Config) {
					drafting(t, tc.draft, depth)(c)
					c.Sequences, c.Context, c.Queue, c.Unified = 4, 512, 8, tc.unified
					c.Tap = func(id string, pos int, logits []float32) { seen.see(fmt.Sprint(id, " ", depth), pos, logits) }
				})
				var wg sync.WaitGroup
				for i := range 4 {
					wg.Go(func() {
						r := ask(fmt.Sprint(i), fmt.Sprint(i, " ", repeated), 40+i)
						r.Params.IgnoreEOS = true
						a, err := collect(t.Context(), l, r)
						if err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						all.DraftedTokens += a.usage.DraftedTokens
						all.AcceptedTokens += a.usage.AcceptedTokens
					})
				}
				wg.Wait()
			}
			if got := float64(all.AcceptedTokens) / float64(all.DraftedTokens); all.DraftedTokens < 100 || got < tc.least || got > tc.most {
				t.Errorf("%d of %d guesses were right", all.AcceptedTokens, all.DraftedTokens)
			}
			for i := range 4 {
				for _, depth := range []int{1, 4} {
					compareUntilTheyMayPart(t, seen.rows[fmt.Sprint(i, " ", depth)], seen.rows[fmt.Sprint(i, " 0")], func(t *testing.T, a, b []float32) bool {
						if d := maxDiff(a, b); d > 1e-3 {
							t.Errorf("logits differ by %g", d)
						}
						return top2Gap(a) > 1e-3
					})
				}
			}
		})
	}
}

// Sampled answers are those without a draft model, token by token with the same
// seed: each is drawn by the request's own sampler.
func TestSeedsMeanTheSameWithADraftModel(t *testing.T) {
	model := enginetest.Llama(t, synth.Config{Context: 512})
	run := func(change func(*llm.Config)) (tokens []int32, drafted int) {
		l := start(t, model, change)
		r := ask("a", repeated, 60)
		r.Params = inference.Params{MaxTokens: 60, Temperature: 0.3, TopP: 0.9, Seed: 3, IgnoreEOS: true, Logprobs: true}
		for ev, err := range l.Generate(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range ev.Logprobs {
				tokens = append(tokens, p.Token)
			}
			if ev.Usage != nil {
				drafted = ev.Usage.DraftedTokens
			}
		}
		return tokens, drafted
	}
	want, _ := run(nil)
	for name, draft := range map[string]string{"itself": model, "another": another(t)} {
		got, drafted := run(drafting(t, draft, 5))
		if len(got) != 60 || !slices.Equal(got, want) || drafted == 0 {
			t.Errorf("%s: drew %v with %d guesses, without a draft model %v", name, got, drafted, want)
		}
	}
}

// The draft model follows a conversation whose sequences come and go: turns of more
// sessions than there are sequences give what they give without.
func TestDraftsFollowSessions(t *testing.T) {
	model := enginetest.Llama(t, synth.Config{Context: 512})
	turns := func(change func(*llm.Config)) (texts []string, drafted, accepted int) {
		l := start(t, model, change)
		said := map[string][]inference.Message{}
		for i := range 9 {
			session := fmt.Sprint(i % 3)
			said[session] = append(said[session], inference.Message{Role: inference.RoleUser, Content: session + " eight; one two three four five six seven"})
			r := ask(fmt.Sprint(i), "", 23)
			r.Messages, r.Caller.Session, r.Params.IgnoreEOS = slices.Clone(said[session]), session, true
			a := mustCollect(t, l, r)
			said[session] = append(said[session], inference.Message{Role: inference.RoleAssistant, Content: a.text})
			texts = append(texts, a.text)
			drafted, accepted = drafted+a.usage.DraftedTokens, accepted+a.usage.AcceptedTokens
		}
		return texts, drafted, accepted
	}
	want, _, _ := turns(nil)
	got, drafted, accepted := turns(drafting(t, model, 3))
	if !slices.Equal(got, want) {
		t.Errorf("got %q, without a draft model %q", got, want)
	}
	if accepted < drafted*9/10 || drafted < 100 {
		t.Errorf("%d of %d guesses of the model itself were right", accepted, drafted)
	}
}

// A draft model that was trained for less guesses as far as it goes.
func TestDraftModelWithAShortContext(t *testing.T) {
	model := enginetest.Llama(t, synth.Config{Context: 512})
	short := enginetest.Llama(t, synth.Config{Context: 256})
	run := func(change func(*llm.Config)) answer {
		r := ask("a", repeated, 300)
		r.Params.IgnoreEOS = true
		return mustCollect(t, start(t, model, change), r)
	}
	want, got := run(nil), run(drafting(t, short, 3))
	if got.text != want.text || got.usage.CompletionTokens != 300 || got.usage.AcceptedTokens == 0 || got.usage.DraftedTokens > 256 {
		t.Errorf("got %+v, without %+v", got, want)
	}
}

func TestDraftModelsThatCannotGuessAreRefused(t *testing.T) {
	model := enginetest.Load(t, enginetest.Llama(t, synth.Config{}))
	for name, tc := range map[string]struct {
		path string
		want string
	}{
		"another vocabulary": {enginetest.DemoModel(t), "another vocabulary: token"},
		"a longer one":       {enginetest.Llama(t, synth.Config{Vocabulary: 4096}), "another vocabulary"},
		"recurrent":          {synthetic(t, synth.Qwen35, synth.Config{}), "cannot go back"},
	} {
		cfg := llm.Config{Name: "test", Context: 512, Sequences: 2, Queue: 2, Threads: 1, Draft: enginetest.Load(t, tc.path)}
		if _, err := llm.New(model, cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := engine.Facts{TrainContext: 4096, Hybrid: true, Vocabulary: 1000}
	if _, _, err := llm.Derive(llm.Config{Planned: true, Draft: model}, f, 1<<30); err == nil || !strings.Contains(err.Error(), "draft") {
		t.Errorf("a model that cannot go back: %v", err)
	}
}

// synthetic writes a model of any architecture.
func synthetic(t *testing.T, write func(io.Writer, synth.Config) error, cfg synth.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(f, cfg), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}
