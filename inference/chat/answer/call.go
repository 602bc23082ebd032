package answer

import (
	"fmt"
	"strings"

	"dure/inference"
)

// opened is the call, or list of calls, that the parser stands in.
type opened struct {
	body body
	raw  []byte // its text, from the marker or the end of the last complete call on
	from int    // where raw begins, once the call is begun
	// named: a name was read, so that a failure is one of a call.
	named bool
	// begun: the call is out, complete or not.
	begun  bool
	name   string
	calls  int    // that the body has completed
	unread int    // bytes at the end of raw that the body has yet to read
	back   int    // with verdict over: bytes at the end of raw that are not its own
	reason string // with verdict broken: what is wrong
}

// body reads the text of calls behind a marker.
type body interface {
	// push takes the next byte, which is the last of raw.
	push(c byte) verdict
	// finish is the end of the text.
	finish() verdict
	// idle says that no call is open.
	idle() bool
}

type verdict uint8

const (
	more   verdict = iota // the text may go on
	done                  // the calls are complete with this byte
	over                  // they were complete before the last bytes (opened.back)
	quiet                 // it is text and looks like nothing else
	broken                // it looks like a call and cannot be read (opened.reason)
)

// maxHead is how much of what turned out to be text is read again: a marker may
// stand in it.
const maxHead = 512

func (p *Parser) open(b body) {
	p.call = opened{body: b, raw: append([]byte(nil), p.text.held...)}
	p.text.held = p.text.held[:0]
}

func (p *Parser) inCall(c byte) {
	p.call.raw = append(p.call.raw, c)
	p.call.unread = 0
	switch p.call.body.push(c) {
	case done:
		p.closeCall(0)
	case over:
		p.closeCall(p.call.back)
	case quiet:
		p.call.reason = ""
		p.reject(1)
	case broken:
		p.reject(1)
	}
}

// fail is the verdict for a call that cannot be read.
func (p *Parser) fail(format string, args ...any) verdict {
	p.call.reason = fmt.Sprintf(format, args...)
	return broken
}

// giveBack is the verdict for calls that end before the last bytes.
func (p *Parser) giveBack(n int) verdict {
	p.call.back = n
	return over
}

// known finds the name of a tool that a model wrote.
func (p *Parser) known(name string) (string, bool) {
	for _, n := range []string{name, strings.TrimPrefix(name, "functions."), strings.TrimPrefix(name, "default_api.")} {
		if p.tools[n] != nil {
			return n, true
		}
	}
	return name, false
}

// allows says whether a call may be made, and leaves the reason if not.
func (p *Parser) allows(name string) bool {
	c := &p.call
	c.named = true
	name, ok := p.known(name)
	switch want := p.o.Choice; {
	case !ok:
		p.fail("the answer calls %q, which is not among the tools (%s)", name, p.names())
		return false
	case want.Name != "" && name != want.Name:
		p.fail("the answer calls %q, but only %q may be called", name, want.Name)
		return false
	case want.Single && p.complete > 0:
		p.fail("the answer calls %q as well, but only one call is allowed", name)
		return false
	}
	return true
}

// begin puts out a call. False: it must not be made, for the reason it leaves.
func (p *Parser) begin(name string) bool {
	if !p.allows(name) {
		return false
	}
	c := &p.call
	name, _ = p.known(name)
	p.flushStop()
	if p.ended {
		return false
	}
	p.drop(len(p.text.space))
	p.text.space = p.text.space[:0]
	c.begun, c.name, c.from = true, name, p.mark
	p.seal()
	p.mark = p.read()
	delta := &inference.ToolCallDelta{Index: p.calls, ID: p.newID(), Name: name}
	p.out = append(p.out, Piece{Event: inference.Event{Kind: inference.EventToolCall, Call: delta}, From: c.from, To: p.mark})
	p.calls++
	return true
}

// read is where in the text the body of the call that is begun has come to.
func (p *Parser) read() int { return p.call.from + len(p.call.raw) - p.call.unread }

func (p *Parser) newID() string {
	if p.o.NewID == nil {
		return fmt.Sprintf("call_%d", p.calls)
	}
	return p.o.NewID()
}

// argument puts out text of the arguments of the call that is begun.
func (p *Parser) argument(text ...byte) {
	if len(text) == 0 {
		return
	}
	if n := len(p.out); n == 0 || p.out[n-1].Call == nil || p.out[n-1].Call.Name != "" || p.out[n-1].Call.Index != p.calls-1 {
		p.seal()
		delta := &inference.ToolCallDelta{Index: p.calls - 1}
		p.out = append(p.out, Piece{Event: inference.Event{Kind: inference.EventToolCall, Call: delta}, From: p.mark})
	}
	p.build = append(p.build, text...)
	p.mark = p.read()
	p.out[len(p.out)-1].To = p.mark
}

// endCall completes the call that is begun.
func (p *Parser) endCall() {
	c := &p.call
	p.mark = c.from
	p.settle()
	c.begun, c.named, c.name = false, false, ""
	c.calls++
	p.complete++
}

// settle says that what was read of the body belongs to complete calls.
func (p *Parser) settle() {
	c := &p.call
	n := len(c.raw) - c.unread
	p.mark += n
	c.raw = append([]byte(nil), c.raw[n:]...)
}

// closeCall goes on with text; the last bytes of the body's are its first.
func (p *Parser) closeCall(back int) {
	raw := p.call.raw
	p.call = opened{}
	p.mark += len(raw) - back
	p.afterCall()
	p.again(raw[len(raw)-back:])
}

func (p *Parser) afterCall() {
	t := &p.text
	t.called, t.lineBlank = true, true
	t.trim = t.trim || !t.said && !p.thinking
}

// again reads bytes once more.
func (p *Parser) again(raw []byte) {
	for _, c := range raw {
		if p.ended {
			return
		}
		p.step(c)
	}
}

// reject makes text of what is no call. Its last bytes, up to one, are only read
// now.
func (p *Parser) reject(unread int) {
	c := p.call
	p.call = opened{}
	if c.reason != "" && !p.ended {
		p.warn(inference.CodeToolParse, "%s; it is in the answer as text", c.reason)
	}
	raw, rest := c.raw[:len(c.raw)-unread], c.raw[len(c.raw)-unread:]
	if h, ok := c.body.(*head); ok && h.code && c.calls == 0 {
		p.text.fenced = !strings.Contains(string(raw[3:]), "\n```")
	}
	switch {
	case c.begun:
		p.broken = append(p.broken, p.calls-1)
		p.mark = c.from
		p.literal(raw)
	case c.calls > 0:
		p.afterCall()
		rest = c.raw
		if c.named {
			p.literal(raw)
			rest = c.raw[len(raw):]
		}
	case !c.named && len(c.raw) <= maxHead && len(raw) > 0:
		p.literal(raw[:1])
		rest = c.raw[1:]
	default:
		p.literal(raw)
	}
	p.again(rest)
}

// literal lets bytes be text in which nothing is looked for.
func (p *Parser) literal(raw []byte) {
	if len(raw) == 0 {
		return
	}
	p.saySpace()
	p.say(raw)
	t := &p.text
	for _, c := range raw {
		t.lineBlank = c == '\n' || t.lineBlank && isSpace(c)
	}
	t.trim, t.called = false, false
	t.said = t.said || !p.thinking
}

// finishCall ends the call that the text ends in.
func (p *Parser) finishCall(cut bool) {
	c := &p.call
	switch {
	case cut && c.begun:
		p.warn(inference.CodeToolParse, "the call of %q was cut off by the limit on the answer's length, so that its arguments are not complete", c.name)
		p.broken = append(p.broken, p.calls-1)
		c.unread = 0
		p.argument(quoteJSON(nil, c.raw[p.mark-c.from:]...)...) // what was held back, as it stands
		p.call = opened{}
		p.afterCall()
		return
	case cut && (c.calls == 0 || !c.body.idle()):
		c.reason = ""
		p.reject(0)
		return
	}
	switch c.body.finish() {
	case done, more:
		p.closeCall(0)
	case over:
		p.closeCall(c.back)
	case quiet:
		c.reason = ""
		p.reject(0)
	case broken:
		p.reject(0)
	}
}
