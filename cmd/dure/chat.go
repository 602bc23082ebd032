package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"dure/inference"
)

// chat is one conversation in the terminal.
type chat struct {
	model    inference.Model
	params   inference.Params
	system   string
	messages []inference.Message
	out      io.Writer
	last     inference.Usage
}

// ask sends the user's text and streams the answer to out. Ctrl-C stops the
// answer, not the program: the error is context.Canceled then, and what came of
// the answer stays in the conversation, since the user saw it. A failed request
// leaves the conversation as it was.
func (c *chat) ask(ctx context.Context, text string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	req := &inference.Request{Messages: append(c.context(), inference.Message{Role: inference.RoleUser, Content: text}), Params: c.params}
	var answer strings.Builder
	stopped := false
	for ev, err := range c.model.Generate(ctx, req) {
		if errors.Is(err, context.Canceled) && answer.Len() > 0 {
			stopped = true
			break
		}
		if err != nil {
			fmt.Fprintln(c.out)
			return err
		}
		if _, err := io.WriteString(c.out, ev.Text); err != nil {
			return err
		}
		answer.WriteString(ev.Text)
		if ev.Kind == inference.EventDone {
			c.last = *ev.Usage
			for _, w := range ev.Warnings {
				fmt.Fprintf(os.Stderr, "\nwarning: %s: %s", w.Code, w.Message)
			}
		}
	}
	fmt.Fprintln(c.out)
	c.messages = append(c.messages, inference.Message{Role: inference.RoleUser, Content: text},
		inference.Message{Role: inference.RoleAssistant, Content: answer.String()})
	if stopped {
		return context.Canceled
	}
	return nil
}

// context is what precedes the next message.
func (c *chat) context() []inference.Message {
	var m []inference.Message
	if c.system != "" {
		m = append(m, inference.Message{Role: inference.RoleSystem, Content: c.system})
	}
	return append(m, c.messages...)
}

const chatHelp = `  /help                    this list
  /clear                   forget the conversation
  /system TEXT             set the system message (no TEXT: show it)
  /set NAME VALUE          temperature, top_p, top_k, min_p, seed, max_tokens (no NAME: show them)
  /retry                   ask the last question again
  /stats                   tokens and speed of the last answer
  /exit                    leave (also Ctrl-D)
  """                      begin and end a text of several lines; a line that ends in \ goes on, too
  Ctrl-C                   stop the answer
`

// command runs a line that begins with a slash. It reports true to leave.
func (c *chat) command(ctx context.Context, line string) (leave bool, err error) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "help", "?":
		fmt.Fprint(c.out, chatHelp)
	case "exit", "quit", "bye":
		return true, nil
	case "clear":
		c.messages = nil
		fmt.Fprintln(c.out, "conversation forgotten")
	case "system":
		if rest != "" {
			c.system = rest
		}
		fmt.Fprintf(c.out, "system message: %q\n", c.system)
	case "set":
		return false, c.set(rest)
	case "retry":
		return false, c.retry(ctx)
	case "stats":
		c.stats()
	default:
		return false, fmt.Errorf("there is no command /%s; /help lists them", name)
	}
	return false, nil
}

func (c *chat) retry(ctx context.Context) error {
	n := len(c.messages)
	if n < 2 {
		return errors.New("there is no question to ask again")
	}
	text := c.messages[n-2].Content
	old := c.messages
	c.messages = c.messages[: n-2 : n-2]
	err := c.ask(ctx, text)
	if err != nil {
		c.messages = old
	}
	return err
}

func (c *chat) stats() {
	u := c.last
	if u.CompletionTokens == 0 {
		fmt.Fprintln(c.out, "no answer has been finished yet")
		return
	}
	fmt.Fprintf(c.out, "prompt %d tokens (%d cached) in %.0f ms, answer %d tokens", u.PromptTokens, u.CachedTokens, u.PrefillMS, u.CompletionTokens)
	if u.DecodeMS > 0 && u.CompletionTokens > 1 {
		fmt.Fprintf(c.out, ", %.1f tokens/s", float64(u.CompletionTokens-1)/u.DecodeMS*1000)
	}
	fmt.Fprintln(c.out)
}

// set changes one sampling parameter, or shows all.
func (c *chat) set(assignment string) error {
	name, value, _ := strings.Cut(assignment, " ")
	value = strings.TrimSpace(value)
	p := &c.params
	var err error
	real := func(to *float32) {
		var v float64
		if v, err = strconv.ParseFloat(value, 32); err == nil {
			*to = float32(v)
		}
	}
	whole := func(to *int) {
		var v int
		if v, err = strconv.Atoi(value); err == nil {
			*to = v
		}
	}
	switch name {
	case "":
	case "temperature":
		real(&p.Temperature)
	case "top_p":
		real(&p.TopP)
	case "min_p":
		real(&p.MinP)
	case "top_k":
		whole(&p.TopK)
	case "max_tokens":
		whole(&p.MaxTokens)
	case "seed":
		p.Seed, err = strconv.ParseUint(value, 10, 64)
	default:
		return fmt.Errorf("there is no parameter %q; there are: temperature, top_p, top_k, min_p, seed, max_tokens", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not a number", name, value)
	}
	fmt.Fprintf(c.out, "temperature %g, top_p %g, top_k %d, min_p %g, seed %d (0 = random), max_tokens %d (0 = no limit)\n",
		p.Temperature, p.TopP, p.TopK, p.MinP, p.Seed, p.MaxTokens)
	return nil
}

// once answers a single prompt: text, or with asJSON one event a line.
func once(ctx context.Context, m inference.Model, params inference.Params, system, prompt string, asJSON bool, out io.Writer) error {
	c := &chat{model: m, params: params, system: system, out: out}
	if !asJSON {
		return c.ask(ctx, prompt)
	}
	enc := json.NewEncoder(out)
	req := &inference.Request{Messages: append(c.context(), inference.Message{Role: inference.RoleUser, Content: prompt}), Params: params}
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			var e *inference.Error
			if !errors.As(err, &e) {
				e = inference.Errorf(inference.CodeInternal, "%v", err)
			}
			return errors.Join(err, enc.Encode(map[string]any{"kind": "error", "error": e}))
		}
		if err := enc.Encode(ev); err != nil {
			return err
		}
	}
	return nil
}
