package spec

import (
	"fmt"
	"strings"
)

// Task is something to write, for one stream. Each stream writes about something of
// its own.
type Task struct {
	Name string
	// Prompt for a stream, to be continued as it stands.
	Prompt func(stream int) string
	// Sampled answers are drawn at temperature 0.8, others are greedy.
	Sampled bool
}

// Tasks are one where guesses are right, one in between, and those where there is
// nothing to guess.
var Tasks = []Task{
	{Name: "re-emit", Prompt: reemit},
	{Name: "prose", Prompt: prose},
	{Name: "prose sampled", Prompt: prose, Sampled: true},
}

// reemit asks for a file with one change: a name in it.
func reemit(stream int) string {
	old := source(stream, "limit")
	return "The file before the change:\n```go\n" + old + "```\n\nThe same file, whole, after `limit` was renamed to `bound`:\n```go\n" +
		firstLines(strings.ReplaceAll(old, "limit", "bound"), 6)
}

// source is a file as agents write them.
func source(stream int, word string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package queue%d\n\nimport (\n\t\"errors\"\n\t\"sync\"\n)\n\n", stream)
	fmt.Fprintf(&b, "// Queue holds items in the order of their arrival, up to a %s.\ntype Queue struct {\n\tmu    sync.Mutex\n\titems []string\n\t%s int\n}\n\n", word, word)
	fmt.Fprintf(&b, "// New makes a queue that holds up to %s items.\nfunc New(%s int) *Queue {\n\treturn &Queue{%s: %s}\n}\n\n", word, word, word, word)
	for _, verb := range verbs {
		fmt.Fprintf(&b, "// %s%d %s\nfunc (q *Queue) %s%d(item string) error {\n\tq.mu.Lock()\n\tdefer q.mu.Unlock()\n", verb.name, stream, verb.does, verb.name, stream)
		fmt.Fprintf(&b, "\tif len(q.items) >= q.%s {\n\t\treturn errors.New(%q)\n\t}\n\t%s\n\treturn nil\n}\n\n", word, verb.fails, verb.code)
	}
	return b.String()
}

var verbs = []struct{ name, does, fails, code string }{
	{"Push", "puts an item behind all others.", "queue: no room behind", "q.items = append(q.items, item)"},
	{"Jump", "puts an item before all others.", "queue: no room in front", "q.items = append([]string{item}, q.items...)"},
	{"Swap", "puts an item where the first one was.", "queue: nothing to swap", "q.items[0] = item"},
	{"Fill", "puts an item into all places that are free.", "queue: it is full", "for len(q.items) < cap(q.items) {\n\t\tq.items = append(q.items, item)\n\t}"},
}

func firstLines(text string, n int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[:n], "")
}

func prose(stream int) string {
	about := []string{"a lighthouse", "an old library", "the first snow", "a broken clock", "two rivers", "a night train", "the market square", "a garden in autumn"}
	return "A long and lively story about " + about[stream%len(about)] + ", with many people in it, none of whom says the same thing twice.\n\n"
}
