package builtin

import (
	"fmt"
	"slices"
	"strings"

	"dure/runtime/tool"
)

// How a place was found.
const (
	exactly    = ""
	trailing   = "but for spaces at the ends of lines"
	indented   = "but for the indentation, which was kept as it is in the file"
	unfenced   = "without the lines of ``` around it"
	maxPlaces  = 10  // that an answer names
	maxNearest = 20  // lines of the nearest place that it shows
	maxCommon  = 100 // a line that occurs oftener says nothing of where it is
)

// A replaced text, and how its place was found.
type replaced struct {
	text string
	how  string
}

// replace puts one text in the place of another: of the one place where it is exactly,
// else of the one where it is but for trailing spaces, else of the one where it is but
// for its indentation. Line breaks (CR LF or LF) count as equal; the new lines get those
// of the place, and a missing one at the end of the text stays missing. The error tells
// the agent what to do.
func replace(text, old, fresh string) (replaced, error) {
	norm, old, fresh := lf(text), lf(old), lf(fresh)
	if strings.TrimSpace(old) == "" {
		return replaced{}, fmt.Errorf("old is empty; give the lines that are to be replaced as they are in the file, or use write for a whole file")
	}
	if old == fresh {
		return replaced{}, fmt.Errorf("old and new are equal: nothing would change")
	}
	p, err := find(norm, old, fresh)
	if inner, body := tool.Unfence(old), tool.Unfence(fresh); p == nil && err == nil && inner != old && body != fresh {
		if p, err = find(norm, inner, body); p != nil {
			p.how = strings.TrimPrefix(p.how+", "+unfenced, ", ")
		}
	}
	if err != nil {
		return replaced{}, err
	}
	if p == nil {
		return replaced{}, absent(norm, old, fresh)
	}
	from, to := raw(text, p.from), raw(text, p.to)
	with := strings.ReplaceAll(p.with, "\n", breakAt(text, from))
	return replaced{text[:from] + with + text[to:], p.how}, nil
}

func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// raw is where a place of the text with LF is in the text as it is.
func raw(text string, at int) int {
	if !strings.Contains(text, "\r\n") {
		return at
	}
	i := 0
	for n := 0; n < at; n++ {
		if strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		i++
	}
	return i
}

// breakAt is the line break of the line at a place; of a last line without one, that
// of the line before.
func breakAt(text string, at int) string {
	end := strings.IndexByte(text[at:], '\n')
	if end >= 0 {
		end += at
	} else {
		end = strings.LastIndexByte(text[:at], '\n')
	}
	if end > 0 && text[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// A place of a text, and what is to be there.
type place struct {
	from, to int
	with     string
	how      string
}

// find is the one place that is meant; nil if there is none.
func find(text, old, fresh string) (*place, error) {
	switch at := every(text, old); len(at) {
	case 0:
	case 1:
		return &place{at[0], at[0] + len(old), fresh, exactly}, nil
	default:
		lines := make([]int, len(at))
		for i, a := range at {
			lines[i] = strings.Count(text[:a], "\n") + 1
		}
		return nil, ambiguous(lines)
	}
	for _, how := range []string{trailing, indented} {
		p, err := findLines(text, old, fresh, how)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, nil
}

// every is where a text is in another, overlaps included.
func every(text, old string) []int {
	var at []int
	for from := 0; len(at) <= maxPlaces; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

func ambiguous(lines []int) error {
	more := ""
	if len(lines) > maxPlaces {
		lines, more = lines[:maxPlaces], " and more"
	}
	return fmt.Errorf("old is in the file more than once, at lines %s%s: put lines before or behind it into old and new, until it is only once",
		strings.Trim(fmt.Sprint(lines), "[]"), more)
}

// findLines finds whole lines that are old's but for space at their ends.
func findLines(text, old, fresh, how string) (*place, error) {
	have, want := splitLines(text), bareLines(old)
	bare := make([]string, len(have))
	for i, line := range have {
		bare[i] = strings.TrimSuffix(line, "\n")
	}
	var at []int // from 1
	for i := 0; i+len(want) <= len(have) && len(at) <= maxPlaces; i++ {
		if slices.EqualFunc(bare[i:i+len(want)], want, func(a, b string) bool { return alike(a, b, how) }) {
			at = append(at, i+1)
		}
	}
	switch {
	case len(at) == 0:
		return nil, nil
	case len(at) > 1:
		return nil, ambiguous(at)
	}
	first, end := at[0]-1, at[0]-1+len(want)
	with := fresh
	if how == indented {
		var ok bool
		if with, ok = reindent(bare[first:end], want, fresh); !ok {
			return nil, unsure(at[0], have[first:end])
		}
	}
	from := len(strings.Join(have[:first], ""))
	body := strings.Join(have[first:end], "")
	// Without the last line break, on both sides: what the file has there stays.
	if strings.HasSuffix(body, "\n") {
		body = body[:len(body)-1]
	}
	to := from + len(body)
	if strings.HasSuffix(old, "\n") {
		var ended bool
		if with, ended = strings.CutSuffix(with, "\n"); !ended && to < len(text) {
			to++ // new has no last line break, so that the next line joins it
		}
	}
	return &place{from, to, with, how}, nil
}

// bareLines are a text's lines without their breaks.
func bareLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func alike(a, b, how string) bool {
	if how == indented {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	return strings.TrimRight(a, " \t\r") == strings.TrimRight(b, " \t\r")
}

// unsure shows lines whose indentation cannot be carried over.
func unsure(line int, lines []string) error {
	return fmt.Errorf("old is there at line %d with another indentation, and it is not certain how new must be indented; in the file it is:\n%s",
		line, strings.Join(lines[:min(len(lines), maxNearest)], ""))
}

// absent says what is there instead of what was looked for.
func absent(text, old, fresh string) error {
	if at := strings.Index(text, fresh); at >= 0 && strings.TrimSpace(fresh) != "" {
		return fmt.Errorf("old is not in the file, but new is, at line %d: this edit may have been made already", strings.Count(text[:at], "\n")+1)
	}
	have, want := splitLines(text), bareLines(old)
	i := nearest(have, want)
	if i < 0 {
		return fmt.Errorf("old is not in the file, nor is any of its lines; read the file, and take old from there")
	}
	end := min(i+min(len(want), maxNearest), len(have))
	return fmt.Errorf("old is not in the file as it was given; the nearest is at line %d, where it is:\n%s\nTake old from there, letter by letter",
		i+1, strings.TrimSuffix(strings.Join(have[i:end], ""), "\n"))
}

// nearest is where most lines of a text are in another, by their number from 0; -1 if
// none is.
func nearest(have, want []string) int {
	where := map[string][]int{}
	for i, line := range have {
		if line = strings.TrimSpace(line); line != "" {
			where[line] = append(where[line], i)
		}
	}
	votes := map[int]int{}
	best := -1
	for j, line := range want {
		at := where[strings.TrimSpace(line)]
		if len(at) > maxCommon {
			continue
		}
		for _, i := range at {
			start := max(0, i-j)
			votes[start]++
			if best < 0 || votes[start] > votes[best] || votes[start] == votes[best] && start < best {
				best = start
			}
		}
	}
	return best
}
