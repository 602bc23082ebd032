package jinja

import (
	"errors"
	"fmt"
)

// Error is a template that cannot be compiled or rendered.
type Error struct {
	Line    int // of the template, from 1; 0 where none is to blame
	Message string
	Err     error // what a host function returned, or ErrLimit, or nil
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// ErrLimit is what errors wrap that end a rendering because it used too much.
var ErrLimit = errors.New("limit reached")

func syntaxError(line int, format string, args ...any) error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}

// fail makes a run-time error; the statement it happens in adds the line.
func fail(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// at adds the line to an error that has none yet.
func at(line int, err error) error {
	if err == nil || errors.Is(err, errBreak) || errors.Is(err, errContinue) {
		return err
	}
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Line: line, Message: err.Error(), Err: err}
	}
	if e.Line == 0 {
		e.Line = line
	}
	return err
}
