package openai

import "dure/inference"

// textFields is every member of a text completion that is known.
var textFields = joined(sharedFields, fields[request]{
	"prompt":  (*decoder).setPrompt,
	"echo":    boolean(func(r *request, b bool) { r.echo = b }),
	"best_of": integer(1, maxChoices, func(r *request, i int64) { r.bestOf = int(i) }),
	"logprobs": integer(0, inference.MaxTopLogprobs, func(r *request, i int64) {
		r.logprobs, r.topLogprobs = true, int(i)
	}),
	"suffix": unless(`""`, isText("")),
})

// decodeText decodes the body of a text completion.
func decodeText(body []byte) (*request, error) {
	return decodeRequest(body, textFields, (*decoder).checkText)
}

func (d *decoder) checkText(r *request) error {
	switch {
	case r.prompts == nil:
		return d.missing("prompt")
	case r.present["best_of"] && r.bestOf != r.n:
		return d.at("best_of").unsupported("choosing the best of more answers than are returned is not supported; leave it out or set it to n (%d)", r.n)
	case r.echo && r.logprobs:
		return d.at("echo").unsupported("not supported together with logprobs: those of the prompt's tokens are not computed")
	case len(r.prompts)*r.n > maxChoices:
		return d.at("n").invalid("%d prompts with n = %d ask for %d answers; one request may ask for %d",
			len(r.prompts), r.n, len(r.prompts)*r.n, maxChoices)
	}
	return nil
}

// setPrompt reads a text, a list of texts, a list of tokens or a list of such
// lists.
func (d *decoder) setPrompt(r *request, t token) error {
	switch t.kind {
	case kindString:
		text, err := d.text(t)
		r.prompts = []inference.Prompt{{Text: text}}
		return err
	case kindList:
		return d.setPromptList(r, t)
	}
	return d.expected("a string, a list of strings, or tokens", t)
}

// setPromptList reads a list whose first item tells what the others must be.
func (d *decoder) setPromptList(r *request, t token) error {
	first := kind(d.peek())
	if first == '-' || '0' <= first && first <= '9' {
		ids, err := d.tokenIDs(t)
		r.prompts = []inference.Prompt{{Tokens: ids}}
		return err
	}
	r.listed = true
	err := d.list(t, func(t token) error {
		if len(r.prompts) == maxChoices {
			return d.invalid("at most %d prompts are allowed", maxChoices)
		}
		p, err := d.prompt(first, t)
		r.prompts = append(r.prompts, p)
		return err
	})
	if err == nil && len(r.prompts) == 0 {
		err = d.invalid("must hold at least one prompt")
	}
	return err
}

// prompt reads an item of a list of prompts that are all of one kind.
func (d *decoder) prompt(want kind, t token) (p inference.Prompt, err error) {
	switch {
	case want != kindString && want != kindList:
		return p, d.expected("a string, a token, or a list of tokens", t)
	case t.kind != want:
		return p, d.expected(want.String()+" like the first prompt", t)
	case want == kindString:
		p.Text, err = d.text(t)
		return p, err
	}
	p.Tokens, err = d.tokenIDs(t)
	if err == nil && len(p.Tokens) == 0 {
		err = d.invalid("must hold at least one token")
	}
	return p, err
}
