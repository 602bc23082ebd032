package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/llm"
)

const specHelp = "speculative decoding: ngram guesses what followed in the text before and checks several tokens in a step, where that pays; auto: ngram for models that can take it, else off; off"

// specOptions say whose guesses of coming tokens are checked.
type specOptions struct {
	mode  string
	draft string // a model; "" = the one that the model's entry names, draftOff = none
	depth int    // 0 = what pays
}

// register declares the flags.
func (o *specOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.mode, "spec", string(llm.SpeculationOff), specHelp)
	cmd.Flags().StringVar(&o.draft, "draft", "", draftHelp)
	cmd.Flags().IntVar(&o.depth, "spec-depth", 0, "tokens guessed for each answer in each step, whether that pays or not; 0 = as many as pay")
}

func (o *specOptions) validate() error {
	if o.depth < 0 || o.depth > llm.MostGuesses {
		return fmt.Errorf("--spec-depth %d: must be 0 to %d", o.depth, llm.MostGuesses)
	}
	if o.depth > 0 && o.mode == string(llm.SpeculationOff) && (o.draft == "" || o.draft == draftOff) {
		return fmt.Errorf("--spec-depth %d: nothing is guessed with --spec off and no --draft; leave it out, or say who guesses", o.depth)
	}
	all := []string{string(llm.SpeculationAuto), string(llm.SpeculationNgram), string(llm.SpeculationOff)}
	for _, known := range all {
		if o.mode == known || o.mode == "" {
			return nil
		}
	}
	return fmt.Errorf("--spec %q: must be auto, ngram or off%s", o.mode, catalog.DidYouMean(o.mode, all))
}

// outputs is how many rows with logits a step should have room for; 0 = one for each
// sequence. drafted says that a draft model guesses.
func (o *specOptions) outputs(g *gguf.Geometry, shortWindow, drafted bool) int {
	stuck := g.RecurrentLayers() > 0 || g.Window() > 0 && shortWindow
	if stuck || !drafted && (o.mode == "" || llm.Speculation(o.mode) == llm.SpeculationOff) {
		return 0
	}
	return llm.GuessRows(g.Vocabulary)
}
