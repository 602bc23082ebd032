package openai

import (
	"dure/inference"
	"dure/inference/front/strict"
)

// textFields is every member of a text completion that is known.
var textFields = strict.Joined(sharedFields, strict.Fields[request]{
	"prompt":  setPrompt,
	"echo":    strict.Boolean(func(r *request, b bool) { r.echo = b }),
	"best_of": strict.Integer(1, maxChoices, func(r *request, i int64) { r.bestOf = int(i) }),
	"logprobs": strict.Integer(0, inference.MaxTopLogprobs, func(r *request, i int64) {
		r.logprobs, r.topLogprobs = true, int(i)
	}),
	"suffix": unless(`""`, strict.IsText("")),
})

// decodeText decodes the body of a text completion.
func decodeText(body []byte) (*request, error) {
	return decodeRequest(body, textFields, checkText)
}

func checkText(d *strict.Decoder, r *request) error {
	switch {
	case r.prompts == nil:
		return d.Missing("prompt")
	case r.present["best_of"] && r.bestOf != r.n:
		return d.At("best_of").Unsupported("choosing the best of more answers than are returned is not supported; leave it out or set it to n (%d)", r.n)
	case r.echo && r.logprobs:
		return d.At("echo").Unsupported("not supported together with logprobs: those of the prompt's tokens are not computed")
	case len(r.prompts)*r.n > maxChoices:
		return d.At("n").Invalid("%d prompts with n = %d ask for %d answers; one request may ask for %d",
			len(r.prompts), r.n, len(r.prompts)*r.n, maxChoices)
	}
	return nil
}

// setPrompt reads a text, a list of texts, a list of tokens or a list of such
// lists.
func setPrompt(d *strict.Decoder, r *request, v strict.Value) error {
	switch v.Kind {
	case strict.KindString:
		text, err := d.Text(v)
		r.prompts = []inference.Prompt{{Text: text}}
		return err
	case strict.KindList:
		return setPromptList(d, r, v)
	}
	return d.Expected("a string, a list of strings, or tokens", v)
}

// setPromptList reads a list whose first item tells what the others must be.
func setPromptList(d *strict.Decoder, r *request, v strict.Value) error {
	first := d.Next()
	if first == strict.KindNumber {
		ids, err := d.TokenIDs(v)
		r.prompts = []inference.Prompt{{Tokens: ids}}
		return err
	}
	r.listed = true
	err := d.List(v, func(v strict.Value) error {
		if len(r.prompts) == maxChoices {
			return d.Invalid("at most %d prompts are allowed", maxChoices)
		}
		p, err := prompt(d, first, v)
		r.prompts = append(r.prompts, p)
		return err
	})
	if err == nil && len(r.prompts) == 0 {
		err = d.Invalid("must hold at least one prompt")
	}
	return err
}

// prompt reads an item of a list of prompts that are all of one kind.
func prompt(d *strict.Decoder, want strict.Kind, v strict.Value) (p inference.Prompt, err error) {
	switch {
	case want != strict.KindString && want != strict.KindList:
		return p, d.Expected("a string, a token, or a list of tokens", v)
	case v.Kind != want:
		return p, d.Expected(want.String()+" like the first prompt", v)
	case want == strict.KindString:
		p.Text, err = d.Text(v)
		return p, err
	}
	p.Tokens, err = d.TokenIDs(v)
	if err == nil && len(p.Tokens) == 0 {
		err = d.Invalid("must hold at least one token")
	}
	return p, err
}
