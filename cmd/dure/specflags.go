package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/llm"
)

const specHelp = "speculative decoding: several tokens are guessed and checked in a step, where that pays; ngram guesses what followed in the text before, mtp has the model's own layers for further tokens guess (Qwen3.5 and later files have them), auto does both as far as the model can take it and there is memory, off"

const rollbackHelp = "guesses that a sequence can take back, for models with recurrent layers: each takes the memory of one more state (3 where --spec ngram or mtp or --draft is given for such a model)"

// usualRollback is enough for what guesses win in most steps.
const usualRollback = 3

// specOptions say whose guesses of coming tokens are checked.
type specOptions struct {
	mode  string
	draft string // a model; "" = the one that the model's entry names, draftOff = none
	depth int    // 0 = what pays
	// back is how many guesses models with recurrent layers can take back.
	back int
}

// register declares the flags.
func (o *specOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.mode, "spec", string(llm.SpeculationOff), specHelp)
	cmd.Flags().StringVar(&o.draft, "draft", "", draftHelp)
	cmd.Flags().IntVar(&o.back, "rollback", 0, rollbackHelp)
	cmd.Flags().IntVar(&o.depth, "spec-depth", 0, "tokens guessed for each answer in each step, whether that pays or not; 0 = as many as pay")
}

func (o *specOptions) validate() error {
	if o.depth < 0 || o.depth > llm.MostGuesses {
		return fmt.Errorf("--spec-depth %d: must be 0 to %d", o.depth, llm.MostGuesses)
	}
	if o.depth > 0 && o.mode == string(llm.SpeculationOff) && (o.draft == "" || o.draft == draftOff) {
		return fmt.Errorf("--spec-depth %d: nothing is guessed with --spec off and no --draft; leave it out, or say who guesses", o.depth)
	}
	all := []string{string(llm.SpeculationAuto), string(llm.SpeculationNgram), string(llm.SpeculationMTP), string(llm.SpeculationOff)}
	for _, known := range all {
		if o.mode == known || o.mode == "" {
			return nil
		}
	}
	return fmt.Errorf("--spec %q: must be auto, ngram, mtp or off%s", o.mode, catalog.DidYouMean(o.mode, all))
}

// outputs is how many rows with logits a step should have room for; 0 = one for each
// sequence. drafted says that a draft model guesses.
func (o *specOptions) outputs(g *gguf.Geometry, shortWindow, drafted bool) int {
	stuck := g.RecurrentLayers() > 0 || g.Window() > 0 && shortWindow // the former have rows by rollback
	if stuck || !drafted && (o.mode == "" || llm.Speculation(o.mode) == llm.SpeculationOff) {
		return 0
	}
	return llm.GuessRows(g.Vocabulary)
}

// rollback is how many guesses a model with recurrent layers can take back. Asked for
// where nobody guesses it is an error: it would cost memory for nothing.
func (o *specOptions) rollback(g *gguf.Geometry, drafted bool) (int, error) {
	mode := llm.Speculation(o.mode)
	guesses := drafted || mode == llm.SpeculationNgram || mode == llm.SpeculationMTP || mode == llm.SpeculationAuto && o.back > 0
	switch {
	case o.back < 0:
		return 0, fmt.Errorf("--rollback %d: must not be negative", o.back)
	case o.back > 0 && !guesses:
		return 0, fmt.Errorf("--rollback %d: nothing is guessed with --spec off and no draft model; leave it out, or say who guesses", o.back)
	case o.back > 0 || !guesses || g.RecurrentLayers() == 0:
		return o.back, nil
	}
	return usualRollback, nil
}
