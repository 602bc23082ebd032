package answer

import "strings"

// text is where the parser stands outside of calls.
type text struct {
	held  []byte // may become a marker
	space []byte // white space before it, which goes if a marker comes
	// lineBlank: nothing but blanks stands before on this line.
	lineBlank bool
	// trim: white space is left out, because markup came before it.
	trim bool
	// said: there was content.
	said bool
	// fenced: the text is a block of code that holds no call.
	fenced bool
	// called: a call came last.
	called bool
}

// marker is a text that is more than text.
type marker struct {
	text string
	kind markerKind
	// when says in what places it is one.
	when place
	make func(*Parser) body // of markCall
}

type markerKind uint8

const (
	markThink   markerKind = iota // thinking begins
	markContent                   // thinking ends, content begins
	markSkip                      // says nothing
	markAround                    // says nothing, and the white space before it neither
	markCall                      // a call begins
)

type place uint8

const (
	anywhere  place = iota
	atStart         // before any content of the answer, or right behind a call
	atTrim          // right behind markup
	atLine          // first on a line
	atFirst         // first in the answer
	afterCall       // right behind a call
)

type markerSet struct {
	markers []marker
	first   [256]bool // bytes that a marker begins with
}

func (s *markerSet) add(m marker) {
	s.markers = append(s.markers, m)
	s.first[m.text[0]] = true
}

// markersOf are the markers within content and within thoughts. None is the
// beginning of another.
func markersOf(f Family, calls bool) (sets [2]markerSet) {
	content, thoughts := &sets[0], &sets[1]
	if t := f.Think; t.Open != "" {
		when := anywhere
		if t.Open == "<think>" { // a text that answers may be about
			when = atStart
		}
		content.add(marker{text: t.Open, kind: markThink, when: when})
		if f.Syntax != SyntaxHarmony {
			content.add(marker{text: t.Close, kind: markSkip, when: atStart})
		}
		thoughts.add(marker{text: t.Open, kind: markSkip, when: atTrim})
		thoughts.add(marker{text: t.Close, kind: markContent})
	}
	if f.Syntax == SyntaxHarmony {
		for _, skip := range []string{"<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>", "<|end|>", "<|return|>"} {
			content.add(marker{text: skip, kind: markSkip})
		}
		thoughts.add(marker{text: "<|channel|>final<|message|>", kind: markContent})
	}
	if !calls {
		return sets
	}
	for _, m := range callMarkers(f.Syntax) {
		content.add(m)
		if m.when == anywhere {
			thoughts.add(m)
		}
	}
	for _, around := range surroundings(f.Syntax) {
		content.add(marker{text: around, kind: markAround})
		thoughts.add(marker{text: around, kind: markAround})
	}
	for _, stray := range []string{"</tool_call>", "</function>"} {
		content.add(marker{text: stray, kind: markSkip, when: afterCall})
		thoughts.add(marker{text: stray, kind: markSkip, when: afterCall})
	}
	return sets
}

// fence opens and closes a block of code.
const fence = "```"

// callMarkers are the texts that begin a call.
func callMarkers(s Syntax) []marker {
	call := func(text string, when place, make func(*Parser) body) marker {
		return marker{text: text, kind: markCall, when: when, make: make}
	}
	tagged := call("<tool_call>", anywhere, func(p *Parser) body { return newTagged(p, "</tool_call>") })
	several := call("<tool_calls>", anywhere, func(p *Parser) body { return newTagged(p, "</tool_calls>") })
	function := call("<function=", anywhere, func(p *Parser) body { return newXML(p) })
	object := func(when place) marker { return call("{", when, func(p *Parser) body { return newBare(p, '{') }) }
	array := func(when place) marker { return call("[", when, func(p *Parser) body { return newBare(p, '[') }) }
	block := call(fence, atLine, func(p *Parser) body { return newFence(p) })
	switch s {
	case SyntaxXML:
		return []marker{tagged, function}
	case SyntaxHermes:
		return []marker{tagged, several, object(atFirst)}
	case SyntaxLlama:
		return []marker{call("<|python_tag|>", anywhere, func(p *Parser) body { return newPythonTag(p) }), function, object(atLine), array(atLine)}
	case SyntaxMistral, SyntaxMistralArgs:
		return []marker{call("[TOOL_CALLS]", anywhere, func(p *Parser) body { return newMistral(p) })}
	case SyntaxGemma:
		return []marker{tagged, block, object(atLine), array(atLine)}
	case SyntaxGemma4:
		return []marker{call("<|tool_call>", anywhere, func(p *Parser) body { return newGemma4(p) })}
	case SyntaxGLM:
		return []marker{call(callTag, anywhere, newGLM)}
	case SyntaxKimi:
		return []marker{call(kimiCall, anywhere, newKimi)}
	case SyntaxDeepseek:
		return []marker{call(deepseekCall, anywhere, newDeepseek)}
	case SyntaxDSML:
		return []marker{tagged, call(dsmlCall, anywhere, func(p *Parser) body { return newSpelled(p, &dsmlSpelling) })}
	case SyntaxMinimax:
		return []marker{call(minimaxCall, anywhere, func(p *Parser) body { return newSpelled(p, &minimaxSpelling) })}
	case SyntaxLFM:
		return []marker{call(lfmCall, anywhere, newLFM)}
	case SyntaxHarmony:
		make := func(p *Parser) body { return newHarmony(p) }
		return []marker{call("<|channel|>commentary to=functions.", anywhere, make),
			call("<|channel|>analysis to=functions.", anywhere, make), call("to=functions.", atTrim, make)}
	}
	return []marker{tagged, several, function, block, object(atLine), array(atLine)}
}

// surroundings are the texts that stand around all calls of an answer, or are left of one.
func surroundings(s Syntax) []string {
	switch s {
	case SyntaxKimi:
		return []string{kimiSection, kimiSectionEnd, kimiEnd}
	case SyntaxDeepseek:
		return []string{deepseekCalls, deepseekCallsEnd, deepseekEnd}
	case SyntaxDSML:
		return []string{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"}
	case SyntaxMinimax:
		return []string{minimaxCalls, minimaxCallsEnd}
	case SyntaxLFM:
		return []string{lfmEnd}
	}
	return nil
}

func (p *Parser) set() *markerSet {
	if p.thinking {
		return &p.sets[1]
	}
	return &p.sets[0]
}

// inText takes a byte outside of calls.
func (p *Parser) inText(c byte) {
	t := &p.text
	if len(t.held) == 0 && !p.set().first[c] {
		p.plain(c)
		return
	}
	t.held = append(t.held, c)
	for len(t.held) > 0 && !p.ended {
		m, partial := p.look()
		if m != nil {
			p.meet(m)
			return
		}
		if partial {
			return
		}
		p.shift()
	}
}

// shift lets the first byte that is held be text.
func (p *Parser) shift() {
	t := &p.text
	first := t.held[0]
	t.held = t.held[:copy(t.held, t.held[1:])]
	p.plain(first)
}

// look says which marker the held bytes are, or whether they begin one.
func (p *Parser) look() (m *marker, partial bool) {
	set := p.set()
	for i := range set.markers {
		m := &set.markers[i]
		if !strings.HasPrefix(m.text, string(p.text.held)) || !p.at(m.when) {
			continue
		}
		if len(m.text) == len(p.text.held) {
			return m, false
		}
		partial = true
	}
	return nil, partial
}

// at says whether the held bytes stand in a place.
func (p *Parser) at(where place) bool {
	t := &p.text
	switch where {
	case atStart:
		return !t.said || t.called
	case atTrim:
		return t.trim
	case atLine:
		return t.lineBlank && (!t.fenced || t.held[0] == '`')
	case atFirst:
		return !t.said && p.calls == 0
	case afterCall:
		return t.called
	}
	return true
}

// meet acts on a marker that is complete.
func (p *Parser) meet(m *marker) {
	t := &p.text
	if m.text == fence && t.fenced {
		t.fenced = false
		held := t.held
		t.held = nil
		p.literal(held)
		return
	}
	if m.kind == markCall {
		p.open(m.make(p))
		return
	}
	if m.kind != markSkip || t.trim || t.called || !t.said {
		p.drop(len(t.space))
		t.space = t.space[:0]
	} else {
		p.saySpace()
	}
	p.drop(len(t.held))
	t.held = t.held[:0]
	switch m.kind {
	case markThink:
		p.flushStop()
		p.thinking, t.called = true, false
	case markContent:
		p.thinking, t.called = false, false
	}
	t.trim, t.lineBlank = true, true
}

// plain lets a byte be text. White space waits for what comes behind it.
func (p *Parser) plain(c byte) {
	t := &p.text
	if isSpace(c) && p.holdsSpace() {
		t.space = append(t.space, c)
		t.lineBlank = t.lineBlank || c == '\n'
		if len(t.space) == maxSpace {
			p.saySpace()
		}
		return
	}
	p.saySpace()
	p.say([]byte{c})
	t.lineBlank = c == '\n' || t.lineBlank && isSpace(c)
	t.trim, t.called = false, false
	t.said = t.said || !p.thinking
}

// holdsSpace says that white space may turn out to belong to a marker.
func (p *Parser) holdsSpace() bool {
	return p.thinking || p.text.trim || len(p.tools) > 0 || !p.text.said && p.o.Family.Think.Open != ""
}

// saySpace lets held white space out, or leaves it out where it stands behind
// markup.
func (p *Parser) saySpace() {
	t := &p.text
	if t.trim {
		p.drop(len(t.space))
	} else {
		p.say(t.space)
	}
	t.space = t.space[:0]
}

// release ends the wait for the rest of a marker.
func (p *Parser) release() {
	for len(p.text.held) > 0 && p.call.body == nil && !p.ended {
		p.shift()
		for len(p.text.held) > 0 && !p.ended {
			m, partial := p.look()
			if m != nil {
				p.meet(m)
				return
			}
			if partial {
				break
			}
			p.shift()
		}
	}
}

// lastSpace decides on white space at the end of the text: behind a call it is
// markup.
func (p *Parser) lastSpace() {
	if p.ended {
		return
	}
	if p.text.called {
		p.drop(len(p.text.space))
		p.text.space = p.text.space[:0]
		return
	}
	p.saySpace()
}
