package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/chat/jinja"
)

// ErrNoTemplate is returned by Compile for a source that is empty: the model
// file brings no chat template. Whoever goes on with ChatML instead must say
// so, because a model not trained on ChatML answers badly with it.
var ErrNoTemplate = errors.New("the model has no chat template")

// ChatML is the plain template of the ChatML format: every message between
// <|im_start|>role and <|im_end|>.
const ChatML = `{% for message in messages %}` +
	`<|im_start|>{{ message.role }}` + "\n" + `{{ message.content }}<|im_end|>{{ "\n" }}` +
	`{% endfor %}` +
	`{% if add_generation_prompt %}<|im_start|>assistant{{ "\n" }}{% endif %}`

// Template is a compiled chat template. It is safe for concurrent use.
type Template struct {
	compiled *jinja.Template
	able     Abilities
}

// Compile compiles the source of a chat template, as a GGUF holds it in
// tokenizer.chat_template. The error names the line; it is ErrNoTemplate for
// an empty source.
func Compile(source string) (*Template, error) {
	if strings.TrimSpace(source) == "" {
		return nil, ErrNoTemplate
	}
	if !utf8.ValidString(source) {
		return nil, errors.New("compile chat template: it is not valid UTF-8")
	}
	compiled, err := jinja.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("compile chat template: %w", err)
	}
	t := &Template{compiled: compiled}
	t.able = t.probe()
	return t, nil
}

// Abilities says what the template can print, as trials showed.
func (t *Template) Abilities() Abilities { return t.able }

// RenderOptions is what a template may know besides the messages.
type RenderOptions struct {
	// AddGenerationPrompt asks for the opening of the assistant's turn.
	AddGenerationPrompt bool
	// Tools that the answer may call.
	Tools []inference.Tool
	// Think switches thinking where the template has a switch; nil leaves it alone.
	Think *bool
	// Effort goes to templates that print one; empty leaves it alone.
	Effort inference.Effort
	// BOS and EOS are the texts of the model's tokens of those names. Many
	// templates print BOS first, so the prompt must not get a second one when
	// it is tokenised.
	BOS, EOS string
	// Now is the time that strftime_now prints.
	Now time.Time
}

// Render renders messages into a prompt. Where the template cannot print tools,
// calls or their results they become text of the messages (see fill). A template's
// own refusal is an *inference.Error with its words (CodeInvalidRequest for
// "messages"); so is what the template cannot do with these messages. A template
// that exceeds what a rendering may use is an *inference.Error with CodeInternal:
// the fault is the model's, not the request's.
func (t *Template) Render(messages []inference.Message, o RenderOptions) (string, error) {
	messages, o.Tools = t.able.fill(messages, o.Tools)
	list := make([]jinja.Value, len(messages))
	for i := range messages {
		m, err := t.able.message(&messages[i])
		if err != nil {
			return "", refuse(fmt.Sprintf("messages[%d].tool_calls", i), err)
		}
		list[i] = m
	}
	tools, err := toolList(o.Tools)
	if err != nil {
		return "", err
	}
	variables := map[string]jinja.Value{
		"messages":              jinja.NewList(list...),
		"tools":                 tools,
		"documents":             nil,
		"add_generation_prompt": o.AddGenerationPrompt,
		"bos_token":             o.BOS,
		"eos_token":             o.EOS,
	}
	if name := t.able.ThinkSwitch; name != "" && o.Think != nil {
		variables[name] = *o.Think
	}
	if t.able.Effort && o.Effort != "" {
		variables[effortSwitch] = string(o.Effort)
	}
	return t.render(variables, o.Now)
}

// refusal is the argument of a template's raise_exception.
type refusal string

func (r refusal) Error() string { return string(r) }

// render renders with any variables and the functions that transformers gives
// to templates.
func (t *Template) render(variables map[string]jinja.Value, now time.Time) (string, error) {
	variables["raise_exception"] = jinja.NewFunc("raise_exception", func(args ...jinja.Value) (jinja.Value, error) {
		if len(args) == 1 {
			if message, ok := args[0].(string); ok {
				return nil, refusal(message)
			}
		}
		return nil, refusal("the chat template refuses these messages")
	})
	variables["strftime_now"] = jinja.NewFunc("strftime_now", func(args ...jinja.Value) (jinja.Value, error) {
		if len(args) == 1 {
			if format, ok := args[0].(string); ok {
				return strftime(now, format)
			}
		}
		return nil, errors.New("strftime_now needs a format")
	})
	out, err := t.compiled.Render(variables, jinja.DefaultLimits())
	if err != nil {
		return "", renderError(err)
	}
	return out, nil
}

func renderError(err error) error {
	var raised refusal
	var e *inference.Error
	switch {
	case errors.As(err, &raised):
		e = inference.Errorf(inference.CodeInvalidRequest, "%s", raised)
		e.Param = "messages"
	case errors.Is(err, jinja.ErrLimit):
		e = inference.Errorf(inference.CodeInternal, "the model's chat template uses more than a rendering may: %v", err)
	default:
		e = inference.Errorf(inference.CodeInvalidRequest, "the model's chat template cannot render these messages: %v", err)
		e.Param = "messages"
	}
	return e
}
