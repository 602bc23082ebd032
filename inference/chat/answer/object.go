package answer

import (
	"strings"

	"dure/inference"
)

// object reads one call that is a JSON object with a name and arguments, in any
// order. Models of other schools write some of the fields under other names, or
// all of them within "function".
type object struct {
	p *Parser
	m *mender
	// bare: the object stands in plain text. It is a call only if it has both.
	bare  bool
	depth int // of the object with name and arguments, from 1
	field field
	value []byte // of the field, as far as it is read and held
	name  string
	args  []byte // arguments that came before the name
	state argState
	// extra are fields that mean nothing here.
	extra []string
}

type field uint8

const (
	fieldNone field = iota
	fieldName
	fieldArgs
	fieldFunction
	fieldSkip
)

type argState uint8

const (
	argsNone   argState = iota
	argsOpen            // an object that is being read
	argsText            // a string that holds JSON
	argsClosed          // read and complete
	argsOut             // and put out
)

var fields = map[string]field{
	"name": fieldName, "tool_name": fieldName, "tool": fieldName,
	"arguments": fieldArgs, "parameters": fieldArgs, "args": fieldArgs,
	"function": fieldFunction,
	"id":       fieldSkip, "type": fieldSkip, "call_id": fieldSkip, "index": fieldSkip,
}

func newObject(p *Parser, bare bool) *object {
	o := &object{p: p, m: newMender(), bare: bare, depth: 1}
	o.m.watch = 1
	return o
}

// newArguments reads an object that is the arguments of a call of a name.
func newArguments(p *Parser, name string) *object {
	return &object{p: p, m: newMender(), name: name, field: fieldArgs}
}

// push takes the next byte: done with the object's last brace.
func (o *object) push(c byte) verdict {
	if !o.m.push(c) {
		return o.wrong("it is not JSON")
	}
	return o.collect()
}

// wrong is the verdict for what cannot be read.
func (o *object) wrong(what string) verdict {
	if _, known := o.p.known(o.name); o.bare && !o.p.call.begun && (!known || o.state == argsNone) {
		return quiet
	}
	switch {
	case o.state == argsOut:
		return o.p.fail("what follows the arguments of a call of %q cannot be read: %s", o.name, what)
	case o.name != "":
		return o.p.fail("a call of %q cannot be read: %s", o.name, what)
	}
	return o.p.fail("what looks like a call cannot be read: %s", what)
}

// end is the end of the object's text, marked as such if tagged.
func (o *object) end(tagged bool) verdict {
	if !o.m.end(tagged) {
		return o.wrong("it breaks off")
	}
	return o.collect()
}

// collect takes what the mender has written.
func (o *object) collect() verdict {
	end, out := o.m.valueEnd, o.m.take()
	if o.m.keyEnd {
		return o.key()
	}
	if o.field != fieldNone {
		if end >= 0 {
			out = out[:end]
		}
		if v := o.part(out, end >= 0); v != more {
			return v
		}
	}
	if len(o.m.stack) < o.depth && o.depth > 1 {
		o.depth, o.m.watch = o.depth-1, o.depth-1
		o.field = fieldNone
	}
	if o.m.state == mendDone {
		return o.finished()
	}
	return more
}

// key begins a field.
func (o *object) key() verdict {
	text, _ := unquote(o.m.key)
	f, ok := fields[text]
	if !ok {
		if o.bare && o.state == argsNone {
			return quiet
		}
		f = fieldSkip
		o.extra = append(o.extra, text)
	}
	if f == fieldArgs && o.state != argsNone || f == fieldName && o.name != "" {
		return o.wrong("it has two names, or arguments twice")
	}
	o.field, o.value = f, nil
	return more
}

// part takes a part of the value of a field.
func (o *object) part(out []byte, closed bool) verdict {
	v := more
	switch o.field {
	case fieldFunction:
		o.value = append(o.value, out...)
		if len(o.value) > 0 && o.value[0] == '{' {
			o.depth, o.m.watch = o.depth+1, o.depth+1
			o.field = fieldNone
			return more
		}
		if closed {
			v = o.named()
		}
	case fieldName:
		o.value = append(o.value, out...)
		if closed {
			v = o.named()
		}
	case fieldArgs:
		v = o.argument(out, closed)
	}
	if closed && v == more {
		o.field = fieldNone
	}
	return v
}

// named takes the name, and lets arguments out that waited for it.
func (o *object) named() verdict {
	name, ok := unquote(o.value)
	if !ok || name == "" {
		if o.bare {
			return quiet
		}
		return o.wrong("its name is no text")
	}
	o.name = name
	if o.state == argsClosed {
		return o.release()
	}
	return more
}

func (o *object) argument(out []byte, closed bool) verdict {
	if o.state == argsNone && len(out) > 0 {
		switch {
		case out[0] == '{':
			o.state = argsOpen
			if o.name != "" && !o.p.call.begun && !o.p.begin(o.name) {
				return broken
			}
		case out[0] == '"':
			o.state = argsText
		case string(out) == "null":
			o.state, o.args = argsOpen, []byte("{}")
			out = nil
		default:
			return o.wrong("the arguments are no object")
		}
	}
	if o.p.call.begun && o.state == argsOpen {
		o.p.argument(out...)
	} else {
		o.args = append(o.args, out...)
	}
	if !closed {
		return more
	}
	return o.argsComplete()
}

func (o *object) argsComplete() verdict {
	if o.state == argsText {
		text, _ := unquote(o.args)
		if text == "" {
			text = "{}"
		}
		mended, ok := mendObject(text)
		if !ok {
			return o.wrong("the arguments are a text that is no JSON object")
		}
		o.args = []byte(mended)
	}
	o.state = argsClosed
	if o.p.call.begun {
		o.p.endCall()
		o.state = argsOut
		return more
	}
	if o.name != "" {
		return o.release()
	}
	return more
}

// release puts out a call whose arguments are complete.
func (o *object) release() verdict {
	if !o.p.begin(o.name) {
		return broken
	}
	o.p.argument(o.args...)
	o.p.endCall()
	o.state = argsOut
	return more
}

// finished is the end of the object.
func (o *object) finished() verdict {
	switch {
	case o.state == argsOut:
		if len(o.extra) > 0 {
			o.p.warn(inference.CodeToolParse, "the call of %q had fields besides its name and its arguments, which are left out: %s",
				o.name, strings.Join(o.extra, ", "))
		}
		return done
	case o.bare || o.name == "" || len(o.extra) > 0:
		return o.wrong("it has no arguments, or no name")
	}
	o.args = []byte("{}")
	if v := o.release(); v != more {
		return v
	}
	return done
}
