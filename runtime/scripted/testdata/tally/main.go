// Command tally is one way to meet the specification in examples/tally, kept to prove
// that its cases can be met.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

type options struct{ report, project, from, to string }

var errUsage = errors.New("usage: tally [--from DATE] [--to DATE] projects | tasks PROJECT | days")

func isDate(s string) bool {
	_, err := time.Parse("2006-01-02", s)
	return err == nil && len(s) == 10
}

func parse(args []string) (o options, err error) {
	for len(args) > 1 && strings.HasPrefix(args[0], "--") {
		to := map[string]*string{"--from": &o.from, "--to": &o.to}[args[0]]
		if to == nil || *to != "" || !isDate(args[1]) {
			return o, errUsage
		}
		*to, args = args[1], args[2:]
	}
	switch {
	case len(args) == 1 && (args[0] == "projects" || args[0] == "days"):
		o.report = args[0]
	case len(args) == 2 && args[0] == "tasks":
		o.report, o.project = args[0], args[1]
	default:
		return o, errUsage
	}
	return o, nil
}

type entry struct{ line, from, to int }

var entryLine = regexp.MustCompile(`^(\d\d):(\d\d)-(\d\d):(\d\d) ([a-z0-9-]+)(?:/([a-z0-9-]+))?(?: .*)?$`)

var errForm = errors.New("not a date, an entry or a comment")

type totals map[string]int

func read(r io.Reader, o options) (totals, error) {
	sum, day, entries := totals{}, "", []entry(nil)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		fail := func(err error) (totals, error) { return nil, fmt.Errorf("tally: line %d: %w", n, err) }
		switch m := entryLine.FindStringSubmatch(text); {
		case text == "" || text[0] == '#':
		case isDate(text):
			if text <= day {
				return fail(errors.New("the date does not come after the one before"))
			}
			day, entries = text, nil
		case m == nil:
			return fail(errForm)
		default:
			e, err := check(m, n, day, entries)
			if err != nil {
				return fail(err)
			}
			entries = append(entries, e)
			if (o.from == "" || day >= o.from) && (o.to == "" || day <= o.to) {
				sum.add(o, day, m[5], m[6], e.to-e.from)
			}
		}
	}
	return sum, lines.Err()
}

func minutes(h, m string, end bool) (int, bool) {
	if end && h+m == "2400" {
		return 24 * 60, true
	}
	t, err := time.Parse("1504", h+m)
	return t.Hour()*60 + t.Minute(), err == nil
}

func check(m []string, n int, day string, entries []entry) (entry, error) {
	from, ok := minutes(m[1], m[2], false)
	to, ok2 := minutes(m[3], m[4], true)
	e := entry{n, from, to}
	switch {
	case !ok || !ok2:
		return e, errForm
	case day == "":
		return e, errors.New("an entry before the first date")
	case to <= from:
		return e, errors.New("the entry ends before it begins")
	}
	for _, other := range entries {
		if from < other.to && other.from < to {
			return e, fmt.Errorf("overlaps with line %d", other.line)
		}
	}
	return e, nil
}

func (t totals) add(o options, day, project, task string, minutes int) {
	switch {
	case o.report == "days":
		t[day] += minutes
	case o.report == "projects":
		t[project] += minutes
	case project == o.project && task == "":
		t["-"] += minutes
	case project == o.project:
		t[task] += minutes
	}
}

func (t totals) print(w io.Writer, byTime bool) {
	names, all, wide, long := []string(nil), 0, len("total"), 0
	for name, m := range t {
		names, all, wide = append(names, name), all+m, max(wide, len(name))
	}
	slices.SortFunc(names, func(a, b string) int {
		if byTime && t[a] != t[b] {
			return t[b] - t[a]
		}
		return strings.Compare(a, b)
	})
	clock := func(m int) string { return fmt.Sprintf("%d:%02d", m/60, m%60) }
	long = len(clock(all))
	for _, name := range names {
		fmt.Fprintf(w, "%-*s  %*s\n", wide, name, long, clock(t[name]))
	}
	fmt.Fprintf(w, "%-*s  %*s\n", wide, "total", long, clock(all))
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	t, err := read(os.Stdin, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	t.print(os.Stdout, o.report != "days")
}
