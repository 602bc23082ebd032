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
	"dure/inference/llm"
)

// Models with recurrent layers take guesses back from older states that are kept for
// it: greedy answers are those without guesses, row by row, in both pools, with four
// at once, whether the text or a draft model guesses.
func TestGuessesForModelsWithRecurrentLayers(t *testing.T) {
	model := synthetic(t, synth.Qwen35, synth.Config{Context: 512})
	small := another(t)
	for _, unified := range []bool{false, true} {
		seen := &tap{rows: map[string]map[int][]float32{}}
		var all inference.Usage
		var mu sync.Mutex
		ways := map[string]func(*llm.Config){
			"none": func(*llm.Config) {},
			"text": func(c *llm.Config) {
				c.Speculation, c.GuessDepth, c.Rollback, c.Outputs = llm.SpeculationNgram, 3, 3, 16
			},
			"draft": func(c *llm.Config) { drafting(t, small, 2)(c); c.Rollback, c.Outputs = 3, 16 },
		}
		for way, change := range ways {
			l := start(t, model, func(c *llm.Config) {
				c.Sequences, c.Context, c.Queue, c.Unified = 4, 512, 8, unified
				change(c)
				c.Tap = func(id string, pos int, logits []float32) { seen.see(fmt.Sprint(id, " ", way), pos, logits) }
			})
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					r := ask(fmt.Sprint(i), fmt.Sprint(i, " ", repeated), 60)
					r.Params.IgnoreEOS = true
					if i > 1 { // says one word over and over, which the text guesses
						r.Params.LogitBias = []inference.TokenBias{{Token: 300, Bias: 100}}
					}
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
		if all.DraftedTokens < 100 || all.AcceptedTokens == 0 || all.AcceptedTokens == all.DraftedTokens {
			t.Errorf("unified %v: %d of %d guesses accepted: it takes both kinds", unified, all.AcceptedTokens, all.DraftedTokens)
		}
		for i := range 4 {
			for _, way := range []string{"text", "draft"} {
				compareUntilTheyMayPart(t, seen.rows[fmt.Sprint(i, " ", way)], seen.rows[fmt.Sprint(i, " none")], func(t *testing.T, a, b []float32) bool {
					if d := maxDiff(a, b); d > 2e-3 {
						t.Errorf("unified %v, %s: logits differ by %g", unified, way, d)
					}
					return top2Gap(a) > 2e-3
				})
			}
		}
	}
}

// Sessions that share a beginning fork from sequences that ended with guesses taken
// back, come again, and go on as without guesses.
func TestForksAfterGuessesWereTakenBack(t *testing.T) {
	model := synthetic(t, synth.Qwen35, synth.Config{Context: 512})
	for _, unified := range []bool{false, true} {
		turns := func(change func(*llm.Config)) (texts []string, usage inference.Usage) {
			l := start(t, model, func(c *llm.Config) {
				c.Sequences, c.Context, c.Unified = 3, 512, unified
				if change != nil {
					change(c)
				}
			})
			common := []inference.Message{{Role: inference.RoleUser, Content: repeated}}
			first := mustCollect(t, l, asked("first", common, 21))
			common = append(common, inference.Message{Role: inference.RoleAssistant, Content: first.text})
			for i := range 4 { // forks of the first
				a := mustCollect(t, l, asked(fmt.Sprint(i%2), append(slices.Clone(common),
					inference.Message{Role: inference.RoleUser, Content: fmt.Sprint(i, " seven eight; one two")}), 25))
				texts = append(texts, a.text)
				usage.DraftedTokens += a.usage.DraftedTokens
				usage.AcceptedTokens += a.usage.AcceptedTokens
			}
			return append(texts, first.text), usage
		}
		want, _ := turns(nil)
		got, usage := turns(func(c *llm.Config) {
			c.Speculation, c.GuessDepth, c.Rollback, c.Outputs = llm.SpeculationNgram, 3, 3, 12
		})
		if !slices.Equal(got, want) {
			t.Errorf("unified %v: got %q, without guesses %q", unified, got, want)
		}
		if usage.DraftedTokens == usage.AcceptedTokens {
			t.Errorf("unified %v: nothing was taken back of %d guesses", unified, usage.DraftedTokens)
		}
	}
}

func asked(session string, messages []inference.Message, tokens int) *inference.Request {
	r := ask(session, "", tokens)
	r.Messages, r.Caller.Session, r.Params.IgnoreEOS = messages, session, true
	return r
}

func TestRollbackIsKeptForGuessesOnly(t *testing.T) {
	hybrid := engine.Facts{TrainContext: 4096, Hybrid: true, Vocabulary: 1000}
	for _, tc := range []struct {
		name     string
		cfg      llm.Config
		facts    engine.Facts
		rollback int
		outputs  int
		spec     llm.Speculation
	}{
		{"off", llm.Config{Rollback: 3}, hybrid, 0, 0, llm.SpeculationOff},
		{"text", llm.Config{Rollback: 3, Speculation: llm.SpeculationNgram}, hybrid, 3, 16, llm.SpeculationNgram},
		{"auto", llm.Config{Rollback: 2, Speculation: llm.SpeculationAuto}, hybrid, 2, 12, llm.SpeculationNgram},
		{"auto without room", llm.Config{Speculation: llm.SpeculationAuto}, hybrid, 0, 0, llm.SpeculationOff},
		{"plain", llm.Config{Rollback: 3, Speculation: llm.SpeculationNgram}, engine.Facts{TrainContext: 4096, Vocabulary: 1000}, 0, 64, llm.SpeculationNgram},
	} {
		tc.cfg.Planned, tc.cfg.Sequences = true, 4
		got, _, err := llm.Derive(tc.cfg, tc.facts, 1<<30)
		if err != nil || got.Rollback != tc.rollback || got.Outputs != tc.outputs || got.Speculation != tc.spec {
			t.Errorf("%s: rollback %d, %d rows, %s, %v", tc.name, got.Rollback, got.Outputs, got.Speculation, err)
		}
	}
	_, _, err := llm.Derive(llm.Config{Planned: true, Sequences: 4, Speculation: llm.SpeculationNgram}, hybrid, 1<<30)
	if err == nil || !strings.Contains(err.Error(), "--rollback") {
		t.Errorf("no room for older states: %v", err)
	}
}
