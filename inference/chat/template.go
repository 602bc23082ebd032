package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"dure/inference"

	"github.com/ardanlabs/jinja"
)

// ErrNoTemplate is returned by Compile for a source that is empty: the model
// file brings no chat template. Whoever goes on with ChatML instead must say
// so, because a model not trained on ChatML answers badly with it.
var ErrNoTemplate = errors.New("the model has no chat template")

// ChatML is the plain template of the ChatML format: every message between
// <|im_start|>role and <|im_end|>.
const ChatML = `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// Template is a compiled chat template. It is safe for concurrent use.
type Template struct{ compiled *jinja.Template }

// Compile compiles the source of a chat template, as a GGUF holds it in
// tokenizer.chat_template. The error names the line; it is ErrNoTemplate for
// an empty source.
func Compile(source string) (*Template, error) {
	if strings.TrimSpace(source) == "" {
		return nil, ErrNoTemplate
	}
	compiled, err := jinja.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("compile chat template: %w", err)
	}
	return &Template{compiled}, nil
}

// RenderOptions is what a template may know besides the messages.
type RenderOptions struct {
	// AddGenerationPrompt asks for the opening of the assistant's turn.
	AddGenerationPrompt bool
	// BOS and EOS are the texts of the model's tokens of those names.
	BOS, EOS string
	// Now is the time that strftime_now prints.
	Now time.Time
}

// Render renders messages into a prompt.
func (t *Template) Render(messages []inference.Message, o RenderOptions) (out string, err error) {
	var raised string
	list := make([]jinja.Value, len(messages))
	for i, m := range messages {
		v := jinja.NewDict()
		v.AsDict().Set("role", jinja.NewString(m.Role))
		v.AsDict().Set("content", jinja.NewString(m.Content))
		if m.Name != "" {
			v.AsDict().Set("name", jinja.NewString(m.Name))
		}
		list[i] = v
	}
	out, err = t.compiled.RenderValues(map[string]jinja.Value{
		"messages":              jinja.NewList(list),
		"add_generation_prompt": jinja.NewBool(o.AddGenerationPrompt),
		"bos_token":             jinja.NewString(o.BOS),
		"eos_token":             jinja.NewString(o.EOS),
		"raise_exception": jinja.NewCallable("raise_exception", func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			raised = "the chat template refuses these messages"
			if len(args) > 0 && args[0].IsString() {
				raised = args[0].AsString()
			}
			return jinja.Undefined(), errors.New(raised)
		}),
	})
	if err != nil {
		e := inference.Errorf(inference.CodeInvalidRequest, "%s", err)
		e.Param = "messages"
		return "", e
	}
	return out, nil
}
