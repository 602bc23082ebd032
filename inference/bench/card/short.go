package card

import (
	"cmp"
	"fmt"
	"strings"
)

// short says what a reader wants to know first, all of it from the points.
func (r *Report) short(b *strings.Builder) {
	var lines []string
	for _, say := range []func() string{r.shortPrefill, r.shortDecode, r.shortShare, r.shortReturn, r.shortPeer, r.shortMissing} {
		if line := say(); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n## In short\n\n- %s\n", strings.Join(lines, "\n- "))
	}
}

// firstLast of the points of a series.
func firstLast(points []Point) (first, last Point) { return points[0], points[len(points)-1] }

func (r *Report) shortPrefill() string {
	series, points := r.of(FigurePrefill)
	if len(series) == 0 {
		return ""
	}
	first, last := firstLast(points[series[0]])
	line := fmt.Sprintf("A prompt of %s tokens is read at %s tokens/s", number(first.X), shown(first))
	if last.X != first.X {
		line += fmt.Sprintf(", one of %s tokens at %s", number(last.X), shown(last))
	}
	return line + "."
}

// shortDecode tells of the shortest and the longest context what one stream writes,
// and what all write where they write the most.
func (r *Report) shortDecode() string {
	series, points := r.of(FigureDecode)
	if len(series) == 0 {
		return ""
	}
	told := []string{series[0]}
	if len(series) > 1 {
		told = append(told, series[len(series)-1])
	}
	var parts []string
	for _, s := range told {
		first, _ := firstLast(points[s])
		best := first
		for _, p := range points[s] {
			if p.Value > best.Value {
				best = p
			}
		}
		part := fmt.Sprintf("with %s behind it %s stream writes %s tokens/s", s, number(first.X), shown(first))
		if first.X != 1 {
			part = fmt.Sprintf("with %s behind each %s streams write %s tokens/s", s, number(first.X), shown(first))
		}
		if best.X != first.X {
			part += fmt.Sprintf(", and %s write %s together, the most", number(best.X), shown(best))
		} else if len(points[s]) > 1 {
			part += ", and more streams write no more together"
		}
		parts = append(parts, part)
	}
	line := strings.Join(parts, "; ") + "."
	return strings.ToUpper(line[:1]) + line[1:]
}

// shortShare takes the longest beginning of which both ways were measured.
func (r *Report) shortShare() string {
	series, points := r.of(FigureShare)
	for _, s := range series {
		if s == SeriesAgain {
			continue
		}
		for i := len(points[s]) - 1; i >= 0; i-- {
			p := points[s][i]
			for _, again := range points[SeriesAgain] {
				if again.X == p.X {
					return fmt.Sprintf("A beginning of %s tokens that another sequence has read already costs %s ms instead of %s.", number(p.X), shown(p), shown(again))
				}
			}
		}
	}
	return ""
}

func (r *Report) shortReturn() string {
	series, points := r.of(FigureReturn)
	var parts []string
	for _, s := range series {
		parts = append(parts, fmt.Sprintf("%s %s ms", s, shown(points[s][0])))
	}
	if len(parts) == 0 {
		return ""
	}
	return "An agent's next turn, until its first token: " + strings.Join(parts, "; ") + "."
}

func (r *Report) shortPeer() string {
	series, points := r.of(FigurePeer)
	var parts []string
	for _, s := range series {
		if what, ok := strings.CutSuffix(s, SeriesRatio); ok {
			parts = append(parts, fmt.Sprintf("%s %s", what, shown(points[s][0])))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Beside llama-server (dure / llama-server): " + strings.Join(parts, "; ") + "."
}

// shortMissing warns of what the figures above do not say by themselves.
func (r *Report) shortMissing() string {
	var parts []string
	if n := r.disturbed(); n > 0 {
		parts = append(parts, fmt.Sprintf("other programs disturbed %d of %d figures, marked %s", n, len(r.Points), mark))
	}
	var open []string
	for _, p := range r.Parts {
		if p.State == Part || p.State == Left || p.State == Failed {
			open = append(open, cmp.Or(p.Title, p.Item))
		}
	}
	if len(open) > 0 {
		parts = append(parts, "not all was measured ("+strings.Join(open, "; ")+"): the last table says why")
	}
	if len(parts) == 0 {
		return ""
	}
	line := strings.Join(parts, "; ") + "."
	return strings.ToUpper(line[:1]) + line[1:]
}
