package schema

import "fmt"

// Error is a keyword that cannot be guaranteed, or a schema that is malformed.
type Error struct {
	// Keyword at fault; empty where the document as a whole is.
	Keyword string
	// Path of the schema that holds it, a JSON Pointer (RFC 6901); empty is the root.
	Path string
	// Message says why, and what to write instead.
	Message string
}

func (e *Error) Error() string {
	if e.Keyword == "" {
		return fmt.Sprintf("schema at #%s: %s", e.Path, e.Message)
	}
	return fmt.Sprintf("schema at #%s: %s: %s", e.Path, e.Keyword, e.Message)
}

// Keyword is one that says nothing about which values are valid, as far as is known
// here.
type Keyword struct {
	Name string
	Path string // of the schema that holds it, a JSON Pointer
}

// fail notes the first error; everything comes to an end soon after it.
func (c *compiler) fail(at *value, keyword, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{keyword, at.path, fmt.Sprintf(format, args...)}
	}
}

// refuse notes a keyword that cannot be guaranteed: an error, or with Loose one more
// that is left to the caller.
func (c *compiler) refuse(at *value, keyword, format string, args ...any) {
	if !c.options.Loose {
		c.fail(at, keyword, format, args...)
		return
	}
	place := Keyword{keyword, at.path}
	if c.noted[place] {
		return
	}
	c.noted[place] = true
	c.unchecked = append(c.unchecked, &Error{keyword, at.path, fmt.Sprintf(format, args...)})
}

// ignore notes a keyword that makes no difference, for the caller to show.
func (c *compiler) ignore(at *value, keyword string) {
	place := Keyword{keyword, at.path}
	if !c.noted[place] {
		c.noted[place] = true
		c.ignored = append(c.ignored, place)
	}
}
