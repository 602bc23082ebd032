package spec

import (
	"fmt"
	"strings"
)

// A section is a heading and what is below it, up to the next of its level or above.
type section struct {
	heading line
	body    []line
	below   bool // it has sections of its own
}

// sections are those of a level, and the lines before the first.
func sections(all []line, level int) []section {
	var out []section
	for _, l := range all {
		if l.kind == kindHeading && l.level == level {
			out = append(out, section{heading: l})
			continue
		}
		if l.kind == kindHeading && l.level < level {
			out = append(out, section{heading: l})
			continue
		}
		if len(out) > 0 {
			s := &out[len(out)-1]
			s.below = s.below || l.kind == kindHeading
			s.body = append(s.body, l)
		}
	}
	return out
}

// goals are what the text wants, as the package's comment has it.
func goals(all []line) []Goal {
	var out []Goal
	depth, list := 0, false // of the heading that speaks of goals
	floor := -1             // how far the items of the list are set in; -1: none was there
	for i, l := range all {
		if l.kind == kindHeading {
			floor = -1
			switch {
			case list && l.level <= depth, notGoals.MatchString(l.text):
				list = false
			}
			if goalHeading.MatchString(l.text) && !notGoals.MatchString(l.text) {
				depth, list = l.level, true
			}
			continue
		}
		if !list || l.kind != kindItem || floor >= 0 && l.level > floor {
			continue
		}
		floor = l.level
		if _, check := checkOf(l.text); !check { // one with a check alone is no goal
			out = append(out, item(all, i, len(out)+1))
		}
	}
	if len(out) > 0 {
		return out
	}
	return sectionGoals(all)
}

// item is the goal of an item: its text goes on to the next item of its level, or to what
// is not set in.
func item(all []line, at, count int) Goal {
	first := all[at]
	g := Goal{Name: first.mark, Line: first.number}
	if g.Name == "" {
		g.Name = fmt.Sprint(count)
	}
	end := at + 1
	for ; end < len(all); end++ {
		l := all[end]
		if l.kind == kindHeading || l.kind == kindItem && l.level <= first.level {
			break
		}
		if l.kind == kindText && l.level <= first.level && all[end-1].kind == kindBlank {
			break
		}
	}
	g.take(all[at:end])
	return g
}

// sectionGoals are the sections of the level that has checks.
func sectionGoals(all []line) []Goal {
	for level := 2; level <= 4; level++ {
		var out []Goal
		checked := false
		for _, s := range sections(all, level) {
			if s.heading.level != level {
				continue
			}
			g := Goal{Name: s.heading.text, Line: s.heading.number}
			g.take(s.body)
			checked = checked || g.CheckLine > 0
			if g.CheckLine > 0 || !notGoals.MatchString(g.Name) && g.Text != "" {
				out = append(out, g)
			}
		}
		if checked {
			return out
		}
	}
	return nil
}

// take fills a goal from its lines.
func (g *Goal) take(body []line) {
	var text []string
	for i, l := range body {
		command, ok := checkOf(l.text)
		if l.kind == kindCode || !ok {
			if l.kind != kindCode && l.kind != kindBlank {
				text = append(text, l.text)
			}
			continue
		}
		if command == "" {
			command = blockAfter(body[i+1:])
		}
		if g.CheckLine == 0 {
			g.Check, g.CheckLine = command, l.number
		} else if command != "" {
			g.Check += " && " + command
		}
	}
	g.Text = strings.Join(text, "\n")
}

// blockAfter is the command in the block of code that follows.
func blockAfter(rest []line) string {
	var commands []string
	for _, l := range rest {
		if l.kind == kindBlank && len(commands) == 0 {
			continue
		}
		if l.kind != kindCode {
			break
		}
		if l.text != "" && !fenceForm.MatchString(l.text) {
			commands = append(commands, l.text)
		}
	}
	return strings.Join(commands, " && ")
}
