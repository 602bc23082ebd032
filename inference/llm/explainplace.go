package llm

import (
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/engine"
)

// place says in p where in a request the first difference to the past lies. asked is
// the request as it came, req as the template takes it.
func (l *LLM) place(p *inference.PastPrompt, asked, req *inference.Request, w *wording, plan plan) {
	if req.Prompt != nil || len(p.Was)+len(p.Is) == 0 {
		return
	}
	at, ok := l.placeOf(w, p.SameTokens)
	if !ok {
		return
	}
	messages, _ := begun(req)
	o, rendered := l.renderOptions(req, plan), w.text[:w.rendered]
	if p.Tools = l.inTools(messages, rendered, o, at); p.Tools {
		return
	}
	// The ends of messages rise: the first that is not before the place is looked for.
	failed := false
	k, _ := slices.BinarySearchFunc(indices(len(messages)), at, func(k, at int) int {
		tail, err := l.template.Tail(rendered, messages, k, o)
		failed = failed || err != nil
		return len(rendered) - len(tail) - at
	})
	if !failed && k < len(messages) {
		p.Message = cameFrom(asked.Messages, req.Messages, k)
	}
}

// inTools reports whether a place in a conversation's text is in what the template
// writes of tools: what a rendering without any lacks.
func (l *LLM) inTools(messages []inference.Message, rendered string, o chat.RenderOptions, at int) bool {
	if len(o.Tools) == 0 {
		return false
	}
	o.Tools = nil
	bare, err := l.template.Render(messages, o)
	if err != nil {
		return false
	}
	start, end := 0, len(rendered)
	for start < min(len(rendered), len(bare)) && rendered[start] == bare[start] {
		start++
	}
	for rest := len(bare); end > start && rest > start && rendered[end-1] == bare[rest-1]; rest-- {
		end--
	}
	return start <= at && at < end
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// placeOf is where in the text of a conversation one of its tokens begins. Behind
// remembered tokens it is counted from the end, for what those say may differ from the
// text. It is not known where tokens do not spell the text.
func (l *LLM) placeOf(w *wording, token int) (at int, ok bool) {
	if w.said > 0 && token >= w.said {
		at, ok = l.spelled(w.tokens[w.said:token], w.tail)
		return len(w.text) - len(w.tail) + at, ok
	}
	return l.spelled(w.tokens[:token], w.text)
}

// spelled is how many bytes of a text tokens stand for. Tokenisers put a token before a
// text, or a space before a word, that is not in it.
func (l *LLM) spelled(tokens []engine.Token, text string) (n int, ok bool) {
	for i, t := range tokens {
		piece := l.vocabulary.Piece(t, true)
		rest := text[n:]
		switch {
		case strings.HasPrefix(rest, piece):
			n += len(piece)
		case i == 0 && piece == l.bos:
		case strings.HasPrefix(piece, " ") && strings.HasPrefix(rest, piece[1:]):
			n += len(piece) - 1
		default:
			return 0, false
		}
	}
	return n, true
}

// cameFrom is the message of a request that became messages[k] of the normalised ones,
// the first where several did; nil where it was put in between.
func cameFrom(asked, messages []inference.Message, k int) *int {
	if len(asked) == len(messages) {
		return &k
	}
	from := 0
	for i := range messages {
		found := slices.IndexFunc(asked[from:], func(m inference.Message) bool { return becomes(m, messages[i]) })
		if found < 0 {
			continue
		}
		if found += from; i == k {
			return &found
		}
		from = found + 1
	}
	return nil
}

// becomes reports whether a message may be, or be in, a normalised one.
func becomes(asked, m inference.Message) bool {
	if asked.Content == "" {
		return m.Content == "" && len(asked.ToolCalls) == len(m.ToolCalls)
	}
	return strings.Contains(m.Content, asked.Content)
}
