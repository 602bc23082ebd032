package llm_test

import (
	"fmt"
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

// guessing has so many guesses checked in each step, right or wrong.
func guessing(depth int) func(*llm.Config) {
	return func(c *llm.Config) { c.Speculation, c.GuessDepth, c.Outputs = llm.SpeculationNgram, depth, 64 }
}

// repeated makes guesses: text that comes again.
const repeated = "one two three four five six seven eight; one two three four five six seven eight; one two three four"

// Greedy answers are those without guesses, row by row, in both pools, with
// neighbours whose guesses are right and wrong at other places.
func TestGuessesDoNotChangeGreedyAnswers(t *testing.T) {
	for _, tc := range []struct {
		name, model string
		unified     bool
		flash       engine.FlashAttention
		same        func(t *testing.T, with, without []float32) (comparable bool)
	}{
		{"split", enginetest.Llama(t, synth.Config{Context: 512}), false, engine.FlashOff, nil},
		{"unified", enginetest.Llama(t, synth.Config{Context: 512}), true, engine.FlashOff, nil},
		{"real", enginetest.DemoModel(t), false, engine.FlashOn, func(t *testing.T, a, b []float32) bool {
			if kl := enginetest.Divergence(a, b); kl > 5e-3 {
				t.Errorf("KL divergence %g", kl)
			}
			return top2Gap(a) > 0.5
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.same == nil {
				tc.same = func(t *testing.T, a, b []float32) bool {
					if d := maxDiff(a, b); d > 1e-3 {
						t.Errorf("logits differ by %g", d)
					}
					return top2Gap(a) > 1e-3
				}
			}
			seen := &tap{rows: map[string]map[int][]float32{}}
			var all inference.Usage
			for _, depth := range []int{0, 1, 5} {
				l := start(t, tc.model, func(c *llm.Config) {
					if depth > 0 {
						guessing(depth)(c)
					}
					c.Sequences, c.Context, c.Queue, c.FlashAttention, c.Unified = 4, 512, 8, tc.flash, tc.unified
					c.Tap = func(id string, pos int, logits []float32) { seen.see(fmt.Sprint(id, " ", depth), pos, logits) }
				})
				var wg sync.WaitGroup
				var mu sync.Mutex
				for i := range 4 {
					wg.Go(func() {
						a, err := collect(t.Context(), l, ask(fmt.Sprint(i), fmt.Sprint(i, " ", repeated), 48))
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
			if all.AcceptedTokens == 0 || all.AcceptedTokens == all.DraftedTokens {
				t.Errorf("%d of %d guesses accepted: it takes both kinds", all.AcceptedTokens, all.DraftedTokens)
			}
			for i := range 4 {
				for _, depth := range []int{1, 5} {
					compareUntilTheyMayPart(t, seen.rows[fmt.Sprint(i, " ", depth)], seen.rows[fmt.Sprint(i, " 0")], tc.same)
				}
			}
		})
	}
}

// both runs one request with guesses and without.
func both(t *testing.T, model string, req func() *inference.Request) (with, without answer) {
	t.Helper()
	with = mustCollect(t, start(t, model, guessing(8)), req())
	without = mustCollect(t, start(t, model, nil), req())
	return with, without
}

func TestAnswersEndWhereTheyShouldInsideOfAGuess(t *testing.T) {
	model := enginetest.Llama(t, synth.Config{Context: 512})
	for n := 20; n < 30; n++ {
		with, without := both(t, model, func() *inference.Request { return ask("a", repeated, n) })
		if with.usage.CompletionTokens != without.usage.CompletionTokens || with.text != without.text || with.finish != without.finish {
			t.Errorf("%d tokens: got %d, %s, %q; without guesses %d, %s, %q", n, with.usage.CompletionTokens, with.finish, with.text,
				without.usage.CompletionTokens, without.finish, without.text)
		}
		if n < 28 && with.usage.CompletionTokens != n { // the 29th is the end of generation
			t.Errorf("%d tokens of %d", with.usage.CompletionTokens, n)
		}
	}
	_, whole := both(t, model, func() *inference.Request { return ask("a", repeated, 60) })
	stop := whole.text[len(whole.text)/2 : len(whole.text)/2+4]
	with, without := both(t, model, func() *inference.Request {
		r := ask("a", repeated, 60)
		r.Params.Stop = []string{stop}
		return r
	})
	if with.text != without.text || with.finish != inference.FinishStop || strings.Contains(with.text, stop) {
		t.Errorf("stop %q: got %q, %s; without guesses %q", stop, with.text, with.finish, without.text)
	}
}

// The guess says that the answer ends, and it does.
func TestEndOfGenerationInsideOfAGuess(t *testing.T) {
	model := enginetest.DemoModel(t)
	question := inference.Message{Role: inference.RoleUser, Content: "What is the capital of France? Answer in one short sentence."}
	req := func() *inference.Request {
		r := ask("a", "", 60)
		r.Messages = []inference.Message{question, {Role: inference.RoleAssistant, Content: "The capital of France is Paris."}, question}
		return r
	}
	with, without := both(t, model, req)
	if with.text != without.text || with.finish != inference.FinishStop || with.usage.CompletionTokens != without.usage.CompletionTokens {
		t.Errorf("got %+v, without guesses %+v", with, without)
	}
	if with.usage.AcceptedTokens == 0 {
		t.Error("no guess was right")
	}
}

// What was taken back is not in the cache, and what is there is right: the next turn
// reuses as much as without guesses, and goes on the same.
func TestNextTurnAfterGuesses(t *testing.T) {
	model := enginetest.Llama(t, synth.Config{Context: 512})
	turns := func(change func(*llm.Config)) (all []answer) {
		l := start(t, model, change)
		messages := []inference.Message{{Role: inference.RoleUser, Content: repeated}}
		for i := range 3 {
			r := ask(fmt.Sprint(i), "", 31)
			r.Messages, r.Caller.Session = slices.Clone(messages), "s"
			a := mustCollect(t, l, r)
			all = append(all, a)
			messages = append(messages, inference.Message{Role: inference.RoleAssistant, Content: a.text},
				inference.Message{Role: inference.RoleUser, Content: "again: seven eight; one two"})
		}
		return all
	}
	with, without := turns(guessing(7)), turns(nil)
	drafted, accepted := 0, 0
	for i := range with {
		a, b := with[i], without[i]
		if a.text != b.text || a.usage.CachedTokens != b.usage.CachedTokens || a.usage.PromptTokens != b.usage.PromptTokens {
			t.Errorf("turn %d: %q with %d of %d tokens cached, without guesses %q with %d of %d", i, a.text, a.usage.CachedTokens, a.usage.PromptTokens,
				b.text, b.usage.CachedTokens, b.usage.PromptTokens)
		}
		drafted += a.usage.DraftedTokens
		accepted += a.usage.AcceptedTokens
	}
	if drafted == accepted {
		t.Errorf("all %d guesses were right: nothing was taken back", drafted)
	}
}

func TestLogprobsAndSeedsWithGuesses(t *testing.T) {
	model := enginetest.Llama(t, synth.Config{Context: 512})
	run := func(change func(*llm.Config)) (tokens []int32, logprobs []float32) {
		l := start(t, model, change)
		r := ask("a", repeated, 40)
		r.Params = inference.Params{MaxTokens: 40, Temperature: 0.2, TopP: 0.9, Seed: 3, IgnoreEOS: true, Logprobs: true, TopLogprobs: 2}
		for ev, err := range l.Generate(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range ev.Logprobs {
				tokens, logprobs = append(tokens, p.Token), append(logprobs, p.Logprob)
			}
		}
		return tokens, logprobs
	}
	tokens, logprobs := run(guessing(6))
	wantTokens, wantLogprobs := run(nil)
	if len(tokens) != 40 || !slices.Equal(tokens, wantTokens) {
		t.Fatalf("drew %v, without guesses %v", tokens, wantTokens)
	}
	if d := maxDiff(logprobs, wantLogprobs); d > 1e-3 {
		t.Errorf("logprobs differ by %g", d)
	}
}

func TestModelsThatCannotGoBack(t *testing.T) {
	f := engine.Facts{TrainContext: 4096, Hybrid: true, Vocabulary: 1000}
	cfg, notes, err := llm.Derive(llm.Config{Planned: true, Speculation: llm.SpeculationAuto}, f, 1<<30)
	if err != nil || cfg.Speculation != llm.SpeculationOff || cfg.Outputs != 0 || !strings.Contains(strings.Join(notes, "\n"), "speculative") {
		t.Errorf("auto: %+v, notes %q, %v", cfg.Speculation, notes, err)
	}
	if _, _, err := llm.Derive(llm.Config{Planned: true, Speculation: llm.SpeculationNgram}, f, 1<<30); err == nil {
		t.Error("ngram on a model that cannot go back was taken")
	}
	if _, _, err := llm.Derive(llm.Config{Planned: true, Speculation: "ngrams"}, f, 1<<30); err == nil {
		t.Error("an unknown kind was taken")
	}
	f.Hybrid = false
	cfg, _, err = llm.Derive(llm.Config{Planned: true, Speculation: llm.SpeculationAuto}, f, 1<<30)
	if err != nil || cfg.Speculation != llm.SpeculationNgram || cfg.Outputs != 64 {
		t.Errorf("plain model: %q, %d rows, %v", cfg.Speculation, cfg.Outputs, err)
	}
}
