package patches

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"dure/runtime/scripted"
)

// Fault is what goes wrong in a task.
type Fault string

// Faults.
const (
	None      Fault = ""
	BadPatch  Fault = "bad patch"
	EarlyDone Fault = "early done"
	StaleBase Fault = "stale base"
	Oversize  Fault = "oversize"
	Runaway   Fault = "runaway"
)

// Mechanism is what must catch a fault.
type Mechanism string

// Mechanisms.
const (
	ByCheck    Mechanism = "check"    // it fails on the agent's commit, and the task comes back
	ByConflict Mechanism = "conflict" // the commit does not land, and a merger settles it
	ByLimit    Mechanism = "limit"    // done is refused: a file has more than a commit takes
	ByTime     Mechanism = "time"     // the call is stopped
)

// CaughtBy is the mechanism that must catch a fault; "" for none.
func (f Fault) CaughtBy() Mechanism {
	return map[Fault]Mechanism{BadPatch: ByCheck, EarlyDone: ByCheck, StaleBase: ByConflict, Oversize: ByLimit, Runaway: ByTime}[f]
}

// Options of a set. Zero values are replaced by defaults.
type Options struct {
	// Seed orders the tasks, and gives each turn its latency.
	Seed uint64
	// Pace is the mean latency of an answer; 100 ms.
	Pace time.Duration
	// Planners split the work; 6.
	Planners int
	// Oversize is how large the file is that is too large, in bytes; 128 MiB, which is
	// more than a repository takes by default.
	Oversize int64
}

// Counts of the tasks, by kind.
const (
	parts  = 40 // a new file with a function
	rows   = 16 // a line of the table
	limits = 4  // two lines of the table, by two tasks each
	// Tasks is how many patches there are.
	Tasks = parts + rows + limits
)

// Task is one patch.
type Task struct {
	Slug  string // "part-07", "row-03", "alpha-low"
	Title string
	Text  string // its first line is "task: SLUG"
	Check string
	Fault Fault

	// Apply makes the patch, rightly, in a tree.
	Apply func(tree map[string]string)

	wrong, right string // commands
}

// Set is a task for a team.
type Set struct {
	// Start and Final are trees: contents by path.
	Start, Final map[string]string
	Tasks        []Task
	// Check is the hidden check, for sh -c in a clean checkout.
	Check string
	// Spec is the specification that the lead gets.
	Spec   string
	Script *scripted.Script
}

// Make makes a set.
func Make(o Options) Set {
	if o.Pace == 0 {
		o.Pace = 100 * time.Millisecond
	}
	if o.Planners == 0 {
		o.Planners = 6
	}
	if o.Oversize == 0 {
		o.Oversize = 128 << 20
	}
	s := Set{Start: start(), Tasks: tasks(o)}
	s.Final = maps.Clone(s.Start)
	for _, t := range s.Tasks {
		t.Apply(s.Final)
	}
	s.Check = hidden(s.Final)
	random := rand.New(rand.NewPCG(o.Seed, 60))
	// The tasks that contradict each other come first, so that they begin together.
	random.Shuffle(Tasks-limits, func(i, j int) {
		i, j = i+limits, j+limits
		s.Tasks[i], s.Tasks[j] = s.Tasks[j], s.Tasks[i]
	})
	s.Spec = "# units\n\nThe library in lib.sh shall have 40 functions, one in each file of parts, and table.txt the values that the tasks say.\nCheck: the hidden one.\n"
	s.Script = script(s.Tasks, o, random)
	return s
}

// Resolve is what a merger makes of a file that two tasks changed: of two limits of one
// name the larger one stays.
func Resolve(ours, theirs string) string {
	a, b := strings.SplitAfter(ours, "\n"), strings.SplitAfter(theirs, "\n")
	other := map[string]string{}
	for _, line := range b {
		if name, ok := limitName(line); ok {
			other[name] = line
		}
	}
	for i, line := range a {
		if name, ok := limitName(line); ok && limitOf(other[name]) > limitOf(line) {
			a[i] = other[name]
		}
	}
	return strings.Join(a, "")
}

func limitName(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "limit ")
	name, _, _ := strings.Cut(rest, ":")
	return name, ok
}

func limitOf(line string) (n int) {
	_, text, _ := strings.Cut(line, ": ")
	_, _ = fmt.Sscan(text, &n) // what is no number counts as 0
	return n
}

const table = "table.txt"

// start is the library before the first patch.
func start() map[string]string {
	var t strings.Builder
	for _, name := range []string{"alpha", "beta"} {
		gap(&t, name)
		fmt.Fprintf(&t, "limit %s: 0\n", name)
	}
	for i := range rows {
		gap(&t, fmt.Sprintf("row %02d", i+1))
		fmt.Fprintf(&t, "row %02d: -\n", i+1)
	}
	return map[string]string{
		"lib.sh":         "# units: every function of parts.\nfor file in ./parts/*.sh; do\n\t. \"$file\"\ndone\n",
		"parts/00.sh":    "# A file for each function.\n",
		"check/part.sh":  "# sh check/part.sh FUNCTION ARGUMENT WANT\n. ./lib.sh\ngot=$(\"$1\" \"$2\")\n[ \"$got\" = \"$3\" ] && echo \"$1: as expected\" && exit\necho \"FAIL: $1 $2: got '$got', want '$3'\"\nexit 1\n",
		"check/limit.sh": "# sh check/limit.sh NAME LEAST\ngot=$(sed -n \"s/^limit $1: //p\" table.txt)\n[ \"$got\" -ge \"$2\" ] && echo \"$1: as expected\" && exit\necho \"FAIL: limit $1: got '$got', want $2 or more\"\nexit 1\n",
		"check/row.sh":   "# sh check/row.sh ROW WANT\ngot=$(sed -n \"s/^row $1: //p\" table.txt)\n[ \"$got\" = \"$2\" ] && echo \"$1: as expected\" && exit\necho \"FAIL: row $1: got '$got', want '$2'\"\nexit 1\n",
		table:            t.String(),
	}
}

// gap keeps lines that different tasks change so far apart that no merge joins them.
func gap(b *strings.Builder, name string) {
	for i := range 6 {
		fmt.Fprintf(b, "# %s %d\n", name, i)
	}
}

// hidden is a command that passes on one tree only.
func hidden(tree map[string]string) string {
	var b strings.Builder
	b.WriteString(". ./lib.sh\nfail() { echo \"FAIL: $1\"; exit 1; }\n")
	for i := range parts {
		n := i + 1
		fmt.Fprintf(&b, "[ \"$(part%02d 11)\" = %d ] || fail part%02d\n", n, value(n, 11), n)
	}
	for i := range rows {
		fmt.Fprintf(&b, "grep -qx 'row %02d: %s' table.txt || fail 'row %02d'\n", i+1, word(i+1), i+1)
	}
	b.WriteString("grep -qx 'limit alpha: 20' table.txt || fail alpha\ngrep -qx 'limit beta: 40' table.txt || fail beta\n")
	fmt.Fprintf(&b, "[ $(wc -l < table.txt) -eq %d ] || fail 'the table has other lines'\n", strings.Count(tree[table], "\n"))
	names := slices.Sorted(maps.Keys(tree))
	fmt.Fprintf(&b, "[ $(find . -type f -not -path './.git/*' | wc -l) -eq %d ] || fail 'there are other files'\n", len(names))
	b.WriteString("echo all as expected\n")
	return b.String()
}

// value is what the function of a part is to give.
func value(part, argument int) int { return part*argument + part%7 }

// word is what a row is to have.
func word(row int) string { return fmt.Sprintf("w%d", row*row%97) }
