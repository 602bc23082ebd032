package llm

import (
	"crypto/rand"
	"slices"
	"time"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/chat/answer"
	"dure/inference/engine"
)

// speech is how the model writes what is not plain text: thinking and calls.
type speech struct {
	family answer.Family
	roles  answer.Facts
	// seen are control tokens whose text is a mark that answers are read by.
	seen map[engine.Token]bool
	// open is the token that begins thinking, -1 where it is no single one.
	open engine.Token
}

// learnSpeech finds out how the model speaks, from its template's text and by trial.
func (l *LLM) learnSpeech(source string) {
	f := answer.Detect(source)
	if !l.template.Abilities().Tools {
		f.Syntax = answer.SyntaxHermes // the form that chat describes to it
	}
	l.speech = speech{family: f, seen: map[engine.Token]bool{}, open: -1}
	marks := f.Markers()
	for t := range engine.Token(l.vocabulary.Size()) {
		if l.vocabulary.Piece(t, false) == "" && slices.Contains(marks, l.vocabulary.Piece(t, true)) {
			l.speech.seen[t] = true
		}
		if f.Think.Open != "" && l.vocabulary.Piece(t, true) == f.Think.Open {
			l.speech.open = t
		}
	}
	l.speech.roles = answer.Probe(func(messages []inference.Message) (string, error) {
		return l.template.Render(messages, chat.RenderOptions{AddGenerationPrompt: true, BOS: l.bos, EOS: l.eos, Now: time.Now()})
	})
}

// piece is the text of a token in an answer.
func (l *LLM) piece(t engine.Token) string { return l.vocabulary.Piece(t, l.speech.seen[t]) }

// thinks reports whether the model thinks before it answers, or can.
func (l *LLM) thinks() bool {
	a := l.template.Abilities()
	return l.speech.family.Think.Open != "" || a.ThinkSwitch != "" || a.Effort
}

// plan is what becomes of a request's wish for thinking.
type plan struct {
	think  *bool            // for the template's switch
	effort inference.Effort // for templates that print it
	budget int              // tokens of thinking; 0 for no limit
	close  bool             // thinking that the template opens is closed at once
}

// effortTokens are the budgets of efforts where the template does not know them. High
// and above have none.
var effortTokens = map[inference.Effort]int{inference.EffortMinimal: 256, inference.EffortLow: 1024, inference.EffortMedium: 4096}

// answerReserve is the part of an answer's tokens that thinking must leave.
const answerReserve = 4

// plan settles how much the model thinks; room is the most tokens of the answer.
func (l *LLM) plan(w inference.Reasoning, room int) plan {
	p := plan{budget: w.Budget}
	if !l.thinks() {
		return p
	}
	on := w.Effort != inference.EffortNone
	if w != (inference.Reasoning{}) {
		p.think = &on
	}
	if !on {
		p.close = true
		return p
	}
	if l.template.Abilities().Effort {
		p.effort = l.nearest(w.Effort)
	} else if p.budget == 0 {
		p.budget = effortTokens[w.Effort]
	}
	if most := max(1, room-room/answerReserve); p.budget == 0 || p.budget > most {
		p.budget = most
	}
	return p
}

// efforts in rising order.
var efforts = []inference.Effort{inference.EffortMinimal, inference.EffortLow, inference.EffortMedium, inference.EffortHigh, inference.EffortXHigh, inference.EffortMax}

// nearest is the effort among those that the template names which is nearest to what
// is wanted, the lower of two.
func (l *LLM) nearest(want inference.Effort) inference.Effort {
	known := l.speech.family.Think.Efforts
	if want == "" || len(known) == 0 || slices.Contains(known, string(want)) {
		return want
	}
	best, distance := want, len(efforts)
	for i, e := range efforts {
		if !slices.Contains(known, string(e)) {
			continue
		}
		d := i - slices.Index(efforts, want)
		if d = max(d, -d); d < distance {
			best, distance = e, d
		}
	}
	return best
}

// newCallID names a call of a tool as OpenAI's API does.
func newCallID() string { return "call_" + rand.Text()[:24] }

// parser reads an answer; nil where there is nothing to read but text.
func (l *LLM) parser(req *inference.Request, thinking bool) (*answer.Parser, error) {
	if req.Prompt != nil || len(req.Tools) == 0 && !l.thinks() {
		return nil, nil
	}
	return answer.New(answer.Options{
		Family: l.speech.family, Tools: req.Tools, Choice: req.ToolChoice, Thinking: thinking, Stop: req.Params.Stop, NewID: newCallID,
	})
}
