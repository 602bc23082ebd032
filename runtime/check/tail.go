package check

import (
	"fmt"
	"strings"
)

// A tail keeps the end of what is written to it: there a check says what is wrong.
type tail struct {
	most    int
	b       []byte
	dropped int64
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if over := n - t.most; over > 0 {
		t.dropped += int64(over)
		p = p[over:]
	}
	if over := len(t.b) + len(p) - t.most; over > 0 {
		t.dropped += int64(over)
		t.b = append(t.b[:0], t.b[over:]...)
	}
	t.b = append(t.b, p...)
	return n, nil
}

// end adds a line that is kept whatever was dropped.
func (t *tail) end(line string) {
	if len(t.b) > 0 && t.b[len(t.b)-1] != '\n' {
		t.b = append(t.b, '\n')
	}
	t.b = append(t.b, line+"\n"...)
}

// String is what was kept, as text, with a word about what was not.
func (t *tail) String() string {
	text := strings.ToValidUTF8(string(t.b), "\uFFFD")
	if t.dropped > 0 {
		return fmt.Sprintf("[%d bytes before this are not kept]\n%s", t.dropped, text)
	}
	return text
}
