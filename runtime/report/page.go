package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"dure/runtime/swarm"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"indent": func(depth int) string { return strings.Repeat("\u00a0\u00a0\u00a0", depth) },
	"short":  func(id string) string { return id[:min(12, len(id))] },
	"clock":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") },
	"took":   func(r *Report) string { return r.Last.Sub(r.Began).Round(time.Second).String() },
	"curves": curves,
	"seconds": func(ms int64) string {
		return (time.Duration(ms) * time.Millisecond).Round(10 * time.Millisecond).String()
	},
	"outcome": func(o swarm.Outcome) string {
		if o == "" {
			return "open"
		}
		return string(o)
	},
	"percent": func(t Tokens) string {
		if t.Prompt == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f %%", 100*float64(t.Cached)/float64(t.Prompt))
	},
}).Parse(pageText))

// HTML writes the report as one page that needs nothing else.
func (r *Report) HTML(w io.Writer) error {
	if err := page.Execute(w, r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// A Curve is one picture.
type Curve struct {
	Name string
	Last int64
	Path template.HTMLAttr // points of a polyline in a box of 400 by 100
}

func curves(r *Report) []Curve {
	of := func(name string, value func(Point) int64) Curve {
		c := Curve{Name: name}
		if len(r.Curve) == 0 {
			return c
		}
		end := r.Curve[len(r.Curve)-1]
		c.Last = value(end)
		var b strings.Builder
		b.WriteString(`points="0,100`)
		for _, p := range r.Curve {
			x := 400 * float64(p.Second) / float64(max(1, end.Second))
			y := 100 - 95*float64(value(p))/float64(max(1, c.Last))
			fmt.Fprintf(&b, " %.1f,%.1f", x, y)
		}
		b.WriteString(`"`)
		c.Path = template.HTMLAttr(b.String()) // numbers only
		return c
	}
	all := []Curve{
		of("tasks done", func(p Point) int64 { return int64(p.Done) }),
		of("commits", func(p Point) int64 { return int64(p.Commits) }),
		of("landings", func(p Point) int64 { return int64(p.Landed) }),
		of("conflicts", func(p Point) int64 { return int64(p.Conflicts) }),
		of("goals proved", func(p Point) int64 { return int64(p.Score) }),
		of("tokens", func(p Point) int64 { return p.Tokens }),
		of("tokens of the lead", func(p Point) int64 { return p.Lead }),
		of("tokens of planners", func(p Point) int64 { return p.Planner }),
		of("tokens of workers", func(p Point) int64 { return p.Worker }),
		of("tokens of judges", func(p Point) int64 { return p.Judge }),
		of("tokens of mergers", func(p Point) int64 { return p.Merger }),
		of("millionths of a dollar", func(p Point) int64 { return p.Cost }),
		of("bytes on main in touched files", func(p Point) int64 { return p.Bytes }),
	}
	return slices.DeleteFunc(all, func(c Curve) bool { return c.Last == 0 && c.Name != "goals proved" })
}
