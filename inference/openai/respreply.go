package openai

import (
	"strings"
	"time"

	"dure/inference"
	"dure/inference/front"
)

// composer is a response in the making. Whole, or as events where live is set.
type composer struct {
	x         *front.Exchange
	obj       response
	live      bool
	logprobs  bool
	summary   bool // reasoning is shown as its summary
	encrypted bool
	seed      uint64
	spaced    map[string]spaced // tools of namespaces, by the name that the model knows
	// keep stores the response once it is over; nil where it is not to be stored.
	keep func(*response)

	open      string // type of the item that is open; empty for none
	call      int    // index of the call that is open
	said      strings.Builder
	tokens    []placed
	seq       int    // number of the next event
	deltaHead []byte // of an event with a piece of the open item, up to its text
}

// Start implements front.Answer.
func (a *composer) Start(dst []byte, _ *front.Choice) ([]byte, error) {
	a.obj.Status = statusInProgress
	if !a.live {
		return dst, nil
	}
	return a.begin(dst)
}

// begin sends the events that open a stream.
func (a *composer) begin(dst []byte) (_ []byte, err error) {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if dst, err = a.send(dst, respEvent{Type: kind, Response: &a.obj}); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Event implements front.Answer. Pieces of text are the path of a token.
func (a *composer) Event(dst []byte, _ *front.Choice, ev inference.Event) (_ []byte, err error) {
	kind, text, fresh := itemMessage, ev.Text, false
	switch ev.Kind {
	case inference.EventReasoning:
		kind = itemReasoning
	case inference.EventToolCall:
		kind, text = itemCall, ev.Call.Arguments
		fresh = a.open != itemCall || ev.Call.Index != a.call
		a.call = ev.Call.Index
	}
	if a.open != kind || fresh {
		if dst, err = a.leave(dst, statusCompleted); err != nil {
			return dst, err
		}
		it := item{Type: kind}
		if kind == itemCall {
			it.CallID, it.Name = ev.Call.ID, ev.Call.Name
			if from, ok := a.spaced[it.Name]; ok {
				it.Namespace, it.Name = from.space, from.name
			}
		}
		if dst, err = a.enter(dst, it); err != nil {
			return dst, err
		}
	}
	a.said.WriteString(text)
	var tokens []placed
	if a.logprobs && kind == itemMessage {
		tokens = place(0, ev.Text, ev.Logprobs)
		a.tokens = append(a.tokens, tokens...)
	}
	if !a.live || text == "" && tokens == nil {
		return dst, nil
	}
	return a.delta(dst, kind, text, tokens)
}

// enter opens an item.
func (a *composer) enter(dst []byte, it item) ([]byte, error) {
	a.open = it.Type
	a.said.Reset()
	a.tokens = nil
	it.ID, it.Status = itemID(it.Type, a.obj.ID, len(a.obj.Output)), statusInProgress
	if it.Type == itemMessage {
		it.Role = inference.RoleAssistant
	}
	a.obj.Output = append(a.obj.Output, it)
	if !a.live {
		return dst, nil
	}
	return a.opened(dst, &it)
}

// leave closes the item that is open.
func (a *composer) leave(dst []byte, status string) ([]byte, error) {
	if a.open == "" {
		return dst, nil
	}
	it := &a.obj.Output[len(a.obj.Output)-1]
	it.Status = status
	text := a.said.String()
	switch part := a.part(text, a.tokens); {
	case it.Type == itemCall:
		it.Arguments = text
	case part.Type == partSummary:
		it.Summary = []itemPart{part}
	default:
		it.Content = []itemPart{part}
	}
	if a.encrypted && it.Type == itemReasoning {
		it.Encrypted = encodeReasoning(text)
	}
	if !a.live {
		a.open = ""
		return dst, nil
	}
	dst, err := a.closed(dst, it)
	a.open = ""
	return dst, err
}

// part is the one part that the open item has, unless it is a call.
func (a *composer) part(text string, tokens []placed) itemPart {
	switch {
	case a.open == itemMessage:
		return newPart(partOutput, text, tokens)
	case a.summary:
		return newPart(partSummary, text, nil)
	}
	return newPart(partReasoning, text, nil)
}

// End implements front.Answer.
func (a *composer) End(dst []byte, c *front.Choice, _ bool) ([]byte, error) {
	status, why := statusCompleted, ""
	switch c.Finish {
	case inference.FinishLength:
		status, why = statusIncomplete, "max_output_tokens"
	case inference.FinishRepetition:
		status, why = statusIncomplete, string(c.Finish)
	}
	if a.obj.Status = status; why != "" {
		a.obj.Incomplete = &incomplete{why}
	}
	return a.leave(dst, status)
}

// Done implements front.Answer.
func (a *composer) Done(dst []byte, u inference.Usage) ([]byte, error) {
	a.obj.Usage = newRespUsage(u, a.seed)
	if a.obj.Status == statusCompleted {
		a.obj.Completed = new(time.Now().Unix())
	}
	a.over()
	if a.live {
		return a.send(dst, respEvent{Type: "response." + a.obj.Status, Response: &a.obj})
	}
	return front.AppendJSON(dst, a.obj)
}

// over stores a response that came to its end in whatever way.
func (a *composer) over() {
	a.obj.Warnings = a.x.Warnings()
	if a.keep != nil {
		a.keep(&a.obj)
	}
}

// fail ends a stream that has begun: as a response that failed, with what there is of it.
func (a *composer) fail(dst []byte, f *front.Failure) ([]byte, error) {
	return a.end(dst, statusFailed, &respError{f.Code, f.Message})
}

// end ends a stream early. One that was cancelled ends with the event of one that
// failed, since clients know no other, and has its own status.
func (a *composer) end(dst []byte, status string, why *respError) (_ []byte, err error) {
	if a.seq == 0 {
		if dst, err = a.begin(dst); err != nil {
			return dst, err
		}
	}
	if dst, err = a.leave(dst, statusIncomplete); err != nil {
		return dst, err
	}
	a.obj.Status, a.obj.Error, a.obj.Completed, a.obj.Incomplete = status, why, nil, nil
	a.obj.Warnings = a.x.Warnings()
	return a.send(dst, respEvent{Type: "response.failed", Response: &a.obj})
}
