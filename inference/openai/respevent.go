package openai

import (
	"bytes"
	"strconv"

	"dure/inference/front"
)

// respEvent is an event of a stream, but for the pieces of text, which are put together
// by hand.
type respEvent struct {
	Type         string         `json:"type"`
	Seq          int            `json:"sequence_number"`
	Response     *response      `json:"response,omitempty"`
	OutputIndex  *int           `json:"output_index,omitempty"`
	ItemID       string         `json:"item_id,omitempty"`
	ContentIndex *int           `json:"content_index,omitempty"`
	SummaryIndex *int           `json:"summary_index,omitempty"`
	Item         *item          `json:"item,omitempty"`
	Part         *itemPart      `json:"part,omitempty"`
	Text         *string        `json:"text,omitempty"`
	Logprobs     *[]chatLogprob `json:"logprobs,omitempty"`
	Name         string         `json:"name,omitempty"`
	Arguments    *string        `json:"arguments,omitempty"`
	Delta        *string        `json:"delta,omitempty"`
}

// send appends an event with the next number.
func (a *composer) send(dst []byte, e respEvent) ([]byte, error) {
	e.Seq = a.seq
	a.seq++
	return front.AppendNamedEvent(dst, e.Type, e)
}

// here is an event about the item that is open, or about its part.
func (a *composer) here(kind string) respEvent {
	e := respEvent{Type: kind, OutputIndex: new(len(a.obj.Output) - 1), ItemID: a.obj.Output[len(a.obj.Output)-1].ID}
	switch {
	case a.open == itemCall:
	case a.open == itemReasoning && a.summary:
		e.SummaryIndex = new(0)
	default:
		e.ContentIndex = new(0)
	}
	return e
}

// names are the events of the item that is open: those about its part, and those about
// its text.
func (a *composer) names() (part, text string) {
	switch {
	case a.open == itemCall:
		return "", "response.function_call_arguments"
	case a.open == itemMessage:
		return "response.content_part", "response.output_text"
	case a.summary:
		return "response.reasoning_summary_part", "response.reasoning_summary_text"
	}
	return "response.content_part", "response.reasoning_text"
}

// opened appends the events that open an item.
func (a *composer) opened(dst []byte, it *item) ([]byte, error) {
	dst, err := a.send(dst, respEvent{Type: "response.output_item.added", OutputIndex: new(len(a.obj.Output) - 1), Item: it})
	if err != nil {
		return dst, err
	}
	part, text := a.names()
	if part != "" {
		e := a.here(part + ".added")
		e.Part = new(a.part("", nil))
		if dst, err = a.send(dst, e); err != nil {
			return dst, err
		}
	}
	return dst, a.prepare(text + ".delta")
}

// mark stands for the text, and seqMark for the number, of an event that is cut there.
const seqMark = -1 << 62

// prepare makes what comes before the text of the open item's pieces.
func (a *composer) prepare(kind string) error {
	e := a.here(kind)
	e.Seq, e.Delta = seqMark, new(mark)
	event, err := front.AppendNamedEvent(nil, kind, e)
	if err != nil {
		return err
	}
	// The number comes last in what is sent, the text before it.
	number := []byte(`"sequence_number":` + strconv.Itoa(seqMark) + `,`)
	event = bytes.Replace(event, number, nil, 1)
	a.deltaHead = event[:bytes.LastIndex(event, []byte(`"\u0000"`))]
	return nil
}

// delta appends a piece of the open item.
func (a *composer) delta(dst []byte, kind, text string, tokens []placed) (_ []byte, err error) {
	dst = append(dst, a.deltaHead...)
	dst = front.AppendString(dst, text)
	if kind == itemMessage {
		dst = append(dst, `,"logprobs":`...)
		if tokens == nil {
			dst = append(dst, "[]"...)
		} else if dst, err = front.AppendJSON(dst, newChatLogprobs(tokens).Content); err != nil {
			return dst, err
		}
	}
	dst = append(dst, `,"sequence_number":`...)
	dst = strconv.AppendInt(dst, int64(a.seq), 10)
	a.seq++
	return append(dst, "}\n\n"...), nil
}

// closed appends the events that close an item.
func (a *composer) closed(dst []byte, it *item) (_ []byte, err error) {
	part, text := a.names()
	said := a.said.String()
	whole := a.here(text + ".done")
	if a.open == itemCall {
		whole.Arguments, whole.Name = &said, it.Name
	} else {
		whole.Text = &said
	}
	if a.open == itemMessage {
		whole.Logprobs = &newChatLogprobs(a.tokens).Content
	}
	if dst, err = a.send(dst, whole); err != nil {
		return dst, err
	}
	if part != "" {
		e := a.here(part + ".done")
		e.Part = new(a.part(said, a.tokens))
		if dst, err = a.send(dst, e); err != nil {
			return dst, err
		}
	}
	return a.send(dst, respEvent{Type: "response.output_item.done", OutputIndex: new(len(a.obj.Output) - 1), Item: it})
}
