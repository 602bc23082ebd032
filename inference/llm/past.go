package llm

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"dure/inference"
	"dure/inference/engine"
)

// spoken names a conversation up to and including one of its messages: all of
// them, in the form in which a client sends them.
type spoken [sha256.Size]byte

// conversationBegin is what the name of every conversation starts from.
var conversationBegin = sha256.Sum256([]byte("dure: a conversation of one model and its chat template, 1"))

// names returns the name of the conversation up to each message: a chain, so
// that a change anywhere changes the names from there on. A message goes in as
// JSON, every field of it; of answers the outer white space does not, because
// clients trim it.
func names(messages []inference.Message) []spoken {
	all := make([]spoken, len(messages))
	name := spoken(conversationBegin)
	for i, m := range messages {
		if m.Role == inference.RoleAssistant {
			m.Content = strings.TrimSpace(m.Content)
		}
		fields, err := json.Marshal(m)
		if err != nil {
			panic(fmt.Sprintf("a message that is no JSON: %v", err)) // it consists of strings
		}
		name = sha256.Sum256(append(name[:], fields...))
		all[i] = name
	}
	return all
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
			p.byUse.MoveToFront(e)
			return k, e.Value.(*remembered).tokens
		}
	}
	return -1, nil
}
