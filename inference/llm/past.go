package llm

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/engine"
)

// spoken names a conversation up to and including one of its messages: all of
// them, in the form in which a client sends them.
type spoken [sha256.Size]byte

// conversationBegin is what the name of every conversation starts from.
var conversationBegin = spoken(sha256.Sum256([]byte("dure: a conversation of one model and its chat template, 1")))

// begin is what the name of a request's conversation starts from: what else is
// rendered in front of it counts, for an answer to other tools is not its past.
func begin(req *inference.Request) spoken {
	head := struct {
		Tools  []inference.Tool
		Effort inference.Effort
	}{req.Tools, req.Reasoning.Effort}
	if head.Tools == nil && head.Effort == "" {
		return conversationBegin
	}
	return chain(conversationBegin, head)
}

// names returns the name of the conversation up to each message: a chain, so
// that a change anywhere changes the names from there on. A message goes in as
// JSON, every field of it, but for what clients change or drop of what they were
// given.
func names(name spoken, messages []inference.Message) []spoken {
	all := make([]spoken, len(messages))
	calls := map[string]int{}
	for i, m := range messages {
		if m.Role == inference.RoleAssistant {
			clear(calls)
			m = asSent(m, calls)
		}
		if call, ok := calls[m.ToolCallID]; ok {
			m.ToolCallID = fmt.Sprint("call ", call)
		}
		name = chain(name, m)
		all[i] = name
	}
	return all
}

func chain(name spoken, v any) spoken {
	fields, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("what is no JSON goes into a name: %v", err)) // surfaces checked it
	}
	return sha256.Sum256(append(name[:], fields...))
}

// asSent is an answer without what clients change of it before they send it again:
// outer white space, its thinking with its proof, the form of arguments, the names of calls. Those
// are replaced by their places, which calls learns, so that a result belongs to its
// call all the same.
func asSent(m inference.Message, calls map[string]int) inference.Message {
	m.Content, m.Reasoning, m.Proof = strings.TrimSpace(m.Content), "", nil
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i, c := range m.ToolCalls {
		calls[c.ID] = i
		m.ToolCalls[i] = inference.ToolCall{Name: c.Name, Arguments: plain(c.Arguments)}
	}
	return m
}

// plain is JSON with its keys sorted and without white space; what is none stays.
func plain(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

// past remembers the tokens of conversations that ended in an answer: the
// prompt and what was sampled. When it is over its limit the conversations go
// that were not asked for longest. It is plain data; its user sees to it that
// one goroutine at a time is in it.
type past struct {
	limit int // bytes
	bytes int
	// byUse has the conversation that was used last in front; of holds the
	// places in it.
	byUse list.List
	of    map[spoken]*list.Element
	gone  uint64 // conversations that went for want of room
}

// remembered tokens are never changed.
type remembered struct {
	name   spoken
	tokens []engine.Token
}

// entryBytes is about what an entry takes beside its tokens.
const entryBytes = 256

func (r *remembered) bytes() int { return entryBytes + 4*len(r.tokens) }

// remember keeps a copy of prompt and sampled as the tokens of a conversation;
// they replace what was remembered of it. What is larger than the limit is not
// kept.
func (p *past) remember(name spoken, prompt, sampled []engine.Token) {
	p.forget(name)
	r := &remembered{name: name, tokens: make([]engine.Token, 0, len(prompt)+len(sampled))}
	r.tokens = append(append(r.tokens, prompt...), sampled...)
	if r.bytes() > p.limit {
		p.gone++
		return
	}
	if p.of == nil {
		p.of = map[spoken]*list.Element{}
	}
	p.of[name] = p.byUse.PushFront(r)
	p.bytes += r.bytes()
	for p.bytes > p.limit {
		p.forget(p.byUse.Back().Value.(*remembered).name)
		p.gone++
	}
}

func (p *past) forget(name spoken) {
	e := p.of[name]
	if e == nil {
		return
	}
	p.bytes -= e.Value.(*remembered).bytes()
	p.byUse.Remove(e)
	delete(p.of, name)
}

// longest finds the last of the names that is remembered. The tokens are not
// the caller's to change; k is -1 where none is remembered.
func (p *past) longest(of []spoken) (k int, tokens []engine.Token) {
	for k = len(of) - 1; k >= 0; k-- {
		if e := p.of[of[k]]; e != nil {
			return k, e.Value.(*remembered).tokens
		}
	}
	return -1, nil
}

// touch notes that a conversation was used.
func (p *past) touch(name spoken) {
	if e := p.of[name]; e != nil {
		p.byUse.MoveToFront(e)
	}
}
