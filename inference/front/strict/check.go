package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"dure/inference"
)

// checkBody makes sure that body is one JSON value in valid UTF-8, and says
// where it is not.
func checkBody(body []byte) error {
	if len(body) == 0 {
		return inference.Errorf(inference.CodeInvalidRequest, "the body is empty: send a JSON object")
	}
	if !utf8.Valid(body) {
		at := 0
		for r, size := utf8.DecodeRune(body); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(body[at:]) {
			at += size
		}
		return inference.Errorf(inference.CodeInvalidRequest, "the body is not valid UTF-8 at %s", position(body, at))
	}
	if json.Valid(body) {
		return nil
	}
	var value json.RawMessage
	err := json.Unmarshal(body, &value)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return inference.Errorf(inference.CodeInvalidRequest, "the body is not valid JSON: %s at %s", syntax, position(body, int(syntax.Offset)-1))
	}
	return inference.Errorf(inference.CodeInvalidRequest, "the body is not valid JSON: %v", err)
}

// position tells where a byte of the body is, for people (line and column from
// 1, columns in bytes) and for programs (offset from 0).
func position(body []byte, offset int) string {
	offset = min(max(offset, 0), len(body))
	line, column := 1, 1
	for _, c := range body[:offset] {
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Sprintf("line %d, column %d (offset %d)", line, column, offset)
}
