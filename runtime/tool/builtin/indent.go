package builtin

import "strings"

// reindent indents a text for the place in a file where another was found: have are
// the file's lines, want the same lines as they were asked for. It says no where there
// is more than one way to do it.
func reindent(have, want []string, fresh string) (string, bool) {
	var pairs []pair
	for i, line := range want {
		if strings.TrimSpace(line) != "" {
			pairs = append(pairs, pair{indentOf(line), indentOf(have[i])})
		}
	}
	lines := strings.Split(fresh, "\n")
	for _, way := range []func([]pair, []string) ([]string, bool){shifted, inUnits} {
		if out, ok := way(pairs, lines); ok {
			return strings.Join(out, "\n"), true
		}
	}
	return "", false
}

// A pair is the indentation of one line, as it was asked for and as it is.
type pair struct{ want, have string }

// mixed says whether there are both tabs and spaces.
func mixed(indent string) bool {
	return strings.Contains(indent, "\t") && strings.Contains(indent, " ")
}

func indentOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// shifted takes the same from the left of each line, and puts the same there.
func shifted(pairs []pair, lines []string) ([]string, bool) {
	least := pairs[0]
	for _, p := range pairs {
		if len(p.want) < len(least.want) {
			least = p
		}
	}
	off, on := least.want, least.have
	for off != "" && on != "" && off[len(off)-1] == on[len(on)-1] {
		off, on = off[:len(off)-1], on[:len(on)-1]
	}
	mixes := false
	for _, p := range pairs {
		if rest, ok := strings.CutPrefix(p.want, off); !ok || on+rest != p.have {
			return nil, false
		}
		mixes = mixes || mixed(p.have)
	}
	return eachIndent(lines, func(indent string) (string, bool) {
		rest, ok := strings.CutPrefix(indent, off)
		return on + rest, ok && (mixes || !mixed(on+rest))
	})
}

// inUnits counts the levels of indentation, where both sides have one unit each.
func inUnits(pairs []pair, lines []string) ([]string, bool) {
	var wanted, had []string
	for _, p := range pairs {
		wanted, had = append(wanted, p.want), append(had, p.have)
	}
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			wanted = append(wanted, indentOf(line))
		}
	}
	from, to := unitOf(wanted), unitOf(had)
	if from == "" || to == "" {
		return nil, false
	}
	deeper, levels := 0, map[int]bool{}
	for i, p := range pairs {
		d := len(p.have)/len(to) - len(p.want)/len(from)
		if i > 0 && d != deeper {
			return nil, false
		}
		deeper = d
		levels[len(p.want)] = true
	}
	// One level of spaces says how deep it is, and not how deep a level is.
	if deeper != 0 && len(levels) < 2 && to != "\t" {
		return nil, false
	}
	return eachIndent(lines, func(indent string) (string, bool) {
		level := len(indent)/len(from) + deeper
		return strings.Repeat(to, max(0, level)), level >= 0
	})
}

// unitOf is what all of some indentations are multiples of: a tab, or two spaces or
// more; empty if there is no such thing.
func unitOf(indents []string) string {
	width, kind := 0, byte(0)
	for _, indent := range indents {
		for i := range len(indent) {
			if kind == 0 {
				kind = indent[i]
			}
			if indent[i] != kind {
				return ""
			}
		}
		for a := len(indent); a > 0; {
			width, a = a, width%a
		}
	}
	switch {
	case kind == '\t':
		return "\t"
	case width >= 2:
		return strings.Repeat(" ", width)
	}
	return ""
}

// eachIndent changes the indentation of all lines that are not blank.
func eachIndent(lines []string, change func(string) (string, bool)) ([]string, bool) {
	out := make([]string, len(lines))
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		indent := indentOf(line)
		to, ok := change(indent)
		if !ok {
			return nil, false
		}
		out[i] = to + line[len(indent):]
	}
	return out, true
}
