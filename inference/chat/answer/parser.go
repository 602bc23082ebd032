package answer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/chat"
)

// Options are what a Parser needs to know about an answer.
type Options struct {
	Family Family
	// Tools that the answer may call. Without any, or with ToolNone, what looks like
	// a call is text.
	Tools  []inference.Tool
	Choice inference.ToolChoice
	// Thinking says that the prompt ends inside of thinking (Family.Opens).
	Thinking bool
	// Stop strings end the content. Thoughts and arguments may contain them.
	Stop []string
	// NewID makes the id of the next call; nil numbers them.
	NewID func() string
}

// Piece is an event of kind EventText, EventReasoning or EventToolCall, and the
// bytes [From, To) of the text fed so far that it was made of. Pieces come in the
// order of their bytes; bytes between two pieces are markup. The one exception is
// the text of a call that broke after a part of it was out: it covers the bytes of
// the call again.
type Piece struct {
	inference.Event
	From, To int
}

// Parser reads one answer.
type Parser struct {
	o     Options
	tools map[string]*tool

	thinking bool
	text     text
	sets     [2]markerSet // by channel: content, reasoning

	mark  int    // bytes of the text that are decided: out, or markup
	tail  []byte // the beginning of a character
	out   []Piece
	build []byte // text of the last piece of out

	call     opened
	calls    int // begun so far, the next index
	complete int
	broken   []int
	warnings []inference.Warning

	stop    *stopper
	stopped string
	ended   bool
}

// New makes the parser of one answer. It refuses stop strings that are empty or no
// text with an *inference.Error that names the field.
func New(o Options) (*Parser, error) {
	p := &Parser{o: o, tools: map[string]*tool{}, thinking: o.Thinking && o.Family.Think.Close != ""}
	if o.Choice.Mode != inference.ToolNone {
		for _, t := range o.Tools {
			p.tools[t.Name] = readTool(t)
		}
	}
	if len(o.Stop) > 0 {
		var err error
		if p.stop, err = newStopper(o.Stop); err != nil {
			return nil, err
		}
	}
	p.text.lineBlank = true
	p.text.trim = p.thinking
	p.sets = markersOf(o.Family, len(p.tools) > 0)
	return p, nil
}

// Feed takes the next text of the answer and returns what is certain now.
func (p *Parser) Feed(text string) []Piece {
	whole := append(p.tail, text...)
	n := wholeCharacters(whole)
	for _, c := range whole[:n] {
		if p.ended {
			break
		}
		p.step(c)
	}
	p.tail = append([]byte(nil), whole[n:]...)
	return p.take()
}

// wholeCharacters is the length of a text without the beginning of a character at
// its end.
func wholeCharacters(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		at := len(text) - back
		if utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

// Finish ends the answer and returns what was held back, and what the caller should
// know of the whole answer. cut says that a limit ended it and not the model: a call
// that is open is then broken, because nobody knows how its arguments go on;
// otherwise the end of the text closes what can be closed.
func (p *Parser) Finish(cut bool) ([]Piece, []inference.Warning) {
	for _, c := range p.tail {
		p.step(c)
	}
	p.tail = nil
	for !p.ended && (p.call.body != nil || len(p.text.held) > 0) {
		if p.call.body != nil {
			p.finishCall(cut)
			continue
		}
		p.release()
	}
	p.lastSpace()
	p.flushStop()
	if p.o.Choice.Mode == inference.ToolRequired && p.complete == 0 {
		p.warn(inference.CodeIgnored, "the answer was to call a tool and did not")
	}
	return p.take(), p.warnings
}

// Stopped returns the stop string that ended the content, and whether one did.
// Text behind it is ignored.
func (p *Parser) Stopped() (stop string, ok bool) { return p.stopped, p.stopped != "" }

// Thinking says that the answer stands inside of thinking.
func (p *Parser) Thinking() bool { return p.thinking }

// Calls is how many calls are complete.
func (p *Parser) Calls() int { return p.complete }

// Broken are the indexes of calls that were begun and not completed: their arguments
// are not the text of a JSON object.
func (p *Parser) Broken() []int { return slices.Clone(p.broken) }

func (p *Parser) step(c byte) {
	if p.call.body != nil {
		p.inCall(c)
	} else {
		p.inText(c)
	}
}

// maxWarnings are told; of more there is only the number.
const maxWarnings = 16

func (p *Parser) warn(code inference.Code, format string, args ...any) {
	if len(p.warnings) < maxWarnings {
		p.warnings = append(p.warnings, inference.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
}

// say puts out text that covers as many bytes, in the channel of where the answer
// stands.
func (p *Parser) say(text []byte) {
	p.sayAt(text, p.mark)
	p.mark += len(text)
}

func (p *Parser) sayAt(text []byte, from int) {
	switch {
	case p.ended:
	case p.thinking:
		p.put(inference.EventReasoning, text, from)
	case p.stop != nil:
		p.stop.push(p, text, from)
	default:
		p.put(inference.EventText, text, from)
	}
}

// put adds text to the last piece, or begins another.
func (p *Parser) put(kind inference.EventKind, text []byte, from int) {
	if len(text) == 0 {
		return
	}
	if n := len(p.out); n == 0 || p.out[n-1].Kind != kind || p.out[n-1].To != from {
		p.seal()
		p.out = append(p.out, Piece{Event: inference.Event{Kind: kind}, From: from, To: from})
	}
	p.build = append(p.build, text...)
	p.out[len(p.out)-1].To += len(text)
}

// seal completes the text of the last piece.
func (p *Parser) seal() {
	if n := len(p.out); n > 0 && len(p.build) > 0 {
		if last := &p.out[n-1]; last.Call != nil {
			last.Call.Arguments = string(p.build)
		} else {
			last.Text = string(p.build)
		}
		p.build = p.build[:0]
	}
}

func (p *Parser) take() []Piece {
	p.seal()
	out := p.out
	p.out = nil
	return out
}

// drop leaves out bytes that are markup.
func (p *Parser) drop(n int) { p.mark += n }

// flushStop ends the search for stop strings in the content so far: something else
// comes between.
func (p *Parser) flushStop() {
	if p.stop != nil && !p.ended {
		p.stop.flush(p)
	}
}

// names lists the tools, for warnings.
func (p *Parser) names() string {
	out := make([]string, 0, len(p.o.Tools))
	for _, t := range p.o.Tools {
		out = append(out, t.Name)
	}
	if len(out) > 8 {
		out = append(out[:8], "...")
	}
	return strings.Join(out, ", ")
}

// stopper looks for stop strings in the content. It lets out what cannot become one.
type stopper struct {
	stops  []string
	stream *chat.Stream
	spans  []span // of the bytes that it holds back
}

type span struct{ from, n int }

func newStopper(stops []string) (*stopper, error) {
	stream, err := chat.NewStream(stops)
	if err != nil {
		return nil, err
	}
	return &stopper{stops: stops, stream: stream}, nil
}

func (s *stopper) push(p *Parser, text []byte, from int) {
	s.spans = append(s.spans, span{from, len(text)})
	out, stopped := s.stream.Push(string(text))
	s.put(p, out)
	if stopped {
		p.stopped, _ = s.stream.Matched()
		p.ended = true
	}
}

func (s *stopper) flush(p *Parser) {
	if len(s.spans) == 0 {
		return
	}
	s.put(p, s.stream.Flush())
	if stop, ok := s.stream.Matched(); ok {
		p.stopped, p.ended = stop, true
	}
	s.spans = nil
	s.stream, _ = chat.NewStream(s.stops) // they were checked when the first one was made
}

// put lets text out, with the bytes that it was.
func (s *stopper) put(p *Parser, text string) {
	for len(text) > 0 && len(s.spans) > 0 {
		first := &s.spans[0]
		n := min(first.n, len(text))
		p.put(inference.EventText, []byte(text[:n]), first.from)
		first.from, first.n, text = first.from+n, first.n-n, text[n:]
		if first.n == 0 {
			s.spans = s.spans[1:]
		}
	}
}
