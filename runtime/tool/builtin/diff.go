package builtin

import (
	"fmt"
	"strings"
)

// around is how many lines a diff shows before and behind.
const around = 3

// diff shows the one stretch of lines in which two texts differ, as diff -u would.
func diff(name, before, after string) string {
	a, b := splitLines(before), splitLines(after)
	top := 0
	for top < len(a) && top < len(b) && a[top] == b[top] {
		top++
	}
	end := 0
	for end < len(a)-top && end < len(b)-top && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	first, below := max(0, top-around), min(end, around)
	var d strings.Builder
	fmt.Fprintf(&d, "--- %s\n+++ %s\n@@ -%s +%s @@\n", name, name, stretch(first, len(a)-end+below), stretch(first, len(b)-end+below))
	put := func(mark string, lines []string) {
		for _, line := range lines {
			text, ended := strings.CutSuffix(line, "\n")
			if !ended {
				d.WriteString(mark + text + "\n\\ No newline at end of file\n")
				continue
			}
			d.WriteString(mark + strings.TrimSuffix(text, "\r") + "\n")
		}
	}
	put(" ", a[first:top])
	put("-", a[top:len(a)-end])
	put("+", b[top:len(b)-end])
	put(" ", a[len(a)-end:len(a)-end+below])
	return d.String()
}

// stretch is lines as diffs count them: the first, from 1, and how many.
func stretch(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}
