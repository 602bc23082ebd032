package chat

import (
	"unicode/utf8"

	"dure/inference"
)

// Stream turns the bytes of one answer's tokens into text, piece by piece.
//
// Characters: tokens may cut a character anywhere; its bytes are held back
// until the last has come. Bytes that cannot be part of UTF-8 become U+FFFD,
// one for each maximal subpart of an ill-formed sequence (Unicode 3.9, table
// 3-8; as WHATWG decoders and Python's errors="replace" do): E2 82 41 becomes
// U+FFFD, "A".
//
// Stop strings: the text ends before the earliest occurrence of any of them;
// text that may be the beginning of one is held back until that is decided.
// They are matched against the text as it comes out, U+FFFD included.
//
// The text that comes out in all does not depend on how the bytes were cut
// into pieces. The work is proportional to bytes times stop strings; what is
// held back is never longer than the longest stop string and one character.
type Stream struct {
	characters characters
	stops      []matcher
	held       []byte // text that has not come out yet
	out        int    // bytes of text that have come out
	match      int    // where in the text the earliest complete stop string begins, or -1
	matched    string // that stop string
	stopped    bool   // match is final: nothing can begin before it any more
}

// NewStream makes the stream of one answer. It refuses stop strings that are
// empty or not valid UTF-8 with an *inference.Error that names the field.
func NewStream(stop []string) (*Stream, error) {
	s := &Stream{match: -1, stops: make([]matcher, 0, len(stop))}
	for _, pattern := range stop {
		if pattern == "" || !utf8.ValidString(pattern) {
			err := inference.Errorf(inference.CodeInvalidRequest, "a stop string must be valid UTF-8 and not empty, not %q", pattern)
			err.Param = "stop"
			return nil, err
		}
		s.stops = append(s.stops, newMatcher(pattern))
	}
	return s, nil
}

// Push takes the next bytes of the answer and returns the text that is now
// certain, which may be empty. stopped says that a stop string was found: text
// ends right before it, later bytes are ignored, and generation can end.
func (s *Stream) Push(piece string) (text string, stopped bool) {
	for i := range len(piece) {
		if s.stopped {
			break
		}
		old := len(s.held)
		s.held = s.characters.push(s.held, piece[i])
		s.scan(old)
	}
	if s.stopped {
		return s.take(len(s.held)), true
	}
	return s.take(len(s.held) - s.longest()), false
}

// Flush ends the answer and returns the text that was still held back. A
// character that is not complete becomes U+FFFD. After it, Matched is final
// and the stream is used up.
func (s *Stream) Flush() (text string) {
	if s.stopped {
		return ""
	}
	old := len(s.held)
	s.held = s.characters.flush(s.held)
	s.scan(old)
	if s.match >= 0 && !s.stopped {
		s.stop()
	}
	return s.take(len(s.held))
}

// Matched returns the stop string that ended the text, and whether one did. Of
// several that begin at the same place it is the shortest.
func (s *Stream) Matched() (stop string, ok bool) { return s.matched, s.stopped }

// Out is how many bytes of text have come out so far.
func (s *Stream) Out() int { return s.out }

// Decided is Out and what is held back; bytes of a character that is not
// complete are not in it.
func (s *Stream) Decided() int { return s.out + len(s.held) }

// scan looks for stop strings in what is held from a position on.
func (s *Stream) scan(from int) {
	for i := from; i < len(s.held); i++ {
		end := s.out + i + 1
		for j := range s.stops {
			m := &s.stops[j]
			if !m.push(s.held[i]) {
				continue
			}
			if at := end - len(m.pattern); s.match < 0 || at < s.match {
				s.match, s.matched = at, m.pattern
			}
		}
		// A longer stop string may have begun before the one that is complete,
		// and would win.
		if s.match >= 0 && end-s.longest() >= s.match {
			s.stop()
			return
		}
	}
}

// stop makes the match final and drops the text from it on.
func (s *Stream) stop() {
	s.held = s.held[:s.match-s.out]
	s.stopped = true
}

// longest is the length of the end of the text that may yet become a stop
// string.
func (s *Stream) longest() int {
	n := 0
	for i := range s.stops {
		n = max(n, s.stops[i].matched)
	}
	return n
}

// take removes the first n bytes of what is held.
func (s *Stream) take(n int) string {
	text := string(s.held[:n])
	s.held = s.held[:copy(s.held, s.held[n:])]
	s.out += n
	return text
}

// matcher finds one pattern in a sequence of bytes (Knuth, Morris, Pratt).
type matcher struct {
	pattern string
	// border[i] is the length of the longest proper prefix of pattern[:i] that
	// also ends it: how much still matches after a mismatch behind i bytes.
	border  []int
	matched int // length of the longest prefix of pattern that ends the bytes
}

func newMatcher(pattern string) matcher {
	border := make([]int, len(pattern)+1)
	for i, n := 1, 0; i < len(pattern); i++ {
		for n > 0 && pattern[i] != pattern[n] {
			n = border[n]
		}
		if pattern[i] == pattern[n] {
			n++
		}
		border[i+1] = n
	}
	return matcher{pattern: pattern, border: border}
}

// push takes the next byte and reports whether the pattern ends with it.
func (m *matcher) push(b byte) bool {
	if m.matched == len(m.pattern) {
		m.matched = m.border[m.matched]
	}
	for m.matched > 0 && m.pattern[m.matched] != b {
		m.matched = m.border[m.matched]
	}
	if m.pattern[m.matched] == b {
		m.matched++
	}
	return m.matched == len(m.pattern)
}
