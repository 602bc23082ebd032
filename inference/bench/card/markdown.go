package card

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Markdown writes the report for people. image is the name of a figure's drawing.
func (r *Report) Markdown(w io.Writer, image func(Figure) string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s on %s\n\n", cell(r.Subject.Model), cell(r.on()))
	fmt.Fprintf(&b, "Measured by `dure bench card` on %s. Every figure is the median of its samples, taken on this machine; what is "+
		"planned or fitted stands in tables of its own. In the drawings, upright lines reach from the smallest sample to the largest; "+
		"`card.json` has these too. Figures of the bare engine that other programs disturbed are marked "+mark+"; those of whole servers are not watched for it.\n", r.Made.UTC().Format("2006-01-02"))
	if r.Subject.Quick {
		b.WriteString("\nThis was a quick run: few sizes, few samples.\n")
	}
	r.short(&b)
	r.subjectTable(&b)
	r.planTable(&b)
	for _, f := range r.Figures {
		r.figure(&b, f, image)
	}
	r.lineTable(&b)
	r.ends(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) on() string {
	if len(r.Subject.Devices) > 0 {
		return strings.Join(r.Subject.Devices, " and ")
	}
	return "CPU: " + r.Subject.CPU
}

// cell keeps a text from breaking a table.
func cell(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s) }

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func (r *Report) subjectTable(b *strings.Builder) {
	s := r.Subject
	hash := "file's SHA-256"
	if s.Files > 1 {
		hash = fmt.Sprintf("SHA-256 of those of its %d files, one a line", s.Files)
	}
	b.WriteString("\n## What was measured\n\n| | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"dure", s.Dure}, {"engine", s.Engine}, {"cards", strings.Join(s.Devices, "; ")},
		{"processor", fmt.Sprintf("%s, %d usable cores, %d compute threads", s.CPU, s.Cores, s.Threads)},
		{"memory", mebibytes(s.Memory)}, {"system", s.System}, {"model", strings.TrimSuffix(s.Model+", "+s.Shape, ", ")}, {hash, "`" + s.SHA256 + "`"}, {"loaded", s.Layout},
	} {
		if row[1] != "" {
			fmt.Fprintf(b, "| %s | %s |\n", row[0], cell(row[1]))
		}
	}
}

func (r *Report) planTable(b *strings.Builder) {
	if len(r.Plan) == 0 {
		return
	}
	b.WriteString("\n## Plan and load\n\n| device | item | planned | measured after the load |\n|---|---|---:|---:|\n")
	var notes []string
	for _, p := range r.Plan {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cell(p.Device), cell(p.Item), mebibytes(p.Planned), mebibytes(p.Measured))
		if p.Note != "" && !slices.Contains(notes, p.Note) {
			notes = append(notes, p.Note)
		}
	}
	for _, n := range notes {
		fmt.Fprintf(b, "\n%s\n", n)
	}
}

// figure writes drawing and table; nothing where nothing was measured.
func (r *Report) figure(b *strings.Builder, f Figure, image func(Figure) string) {
	series, points := r.of(f.Name)
	if len(series) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", f.Title)
	if f.Note != "" {
		fmt.Fprintf(b, "%s\n\n", f.Note)
	}
	if f.X == "" {
		plainTable(b, f, series, points)
		return
	}
	fmt.Fprintf(b, "![%s](%s)\n", f.Title, image(f))
	if f.Name == FigurePower || f.Name == FigureHeat {
		return // too many for a table; card.json has them
	}
	fmt.Fprintf(b, "\nIn %s:\n\n| %s", f.Unit, f.X)
	for _, s := range series {
		fmt.Fprintf(b, " | %s", cell(s))
	}
	fmt.Fprintf(b, " |\n|---:%s|\n", strings.Repeat("|---:", len(series)))
	for _, x := range allX(points) {
		fmt.Fprintf(b, "| %s", number(x))
		for _, s := range series {
			fmt.Fprintf(b, " | %s", at(points[s], x))
		}
		b.WriteString(" |\n")
	}
}

// plainTable is that of a figure that is not drawn. How samples spread is left out
// where there is one of each.
func plainTable(b *strings.Builder, f Figure, series []string, points map[string][]Point) {
	spread := slices.ContainsFunc(series, func(s string) bool { return points[s][0].Samples > 1 })
	if !spread {
		fmt.Fprintf(b, "| | %s |\n|---|---:|\n", f.Unit)
	} else {
		fmt.Fprintf(b, "| | %s | smallest | largest | samples |\n|---|---:|---:|---:|---:|\n", f.Unit)
	}
	for _, s := range series {
		p := points[s][0]
		fmt.Fprintf(b, "| %s | %s |", cell(s), shown(p))
		switch {
		case spread && p.High > 0:
			fmt.Fprintf(b, " %s | %s | %d |", number(p.Low), number(p.High), p.Samples)
		case spread:
			fmt.Fprintf(b, " – | – | %d |", p.Samples)
		}
		b.WriteString("\n")
	}
}

func allX(points map[string][]Point) (all []float64) {
	for _, ps := range points {
		for _, p := range ps {
			all = append(all, p.X)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func at(points []Point, x float64) string {
	for _, p := range points {
		if p.X == x {
			return shown(p)
		}
	}
	return "–"
}

func (r *Report) lineTable(b *strings.Builder) {
	if r.Lines == nil {
		return
	}
	b.WriteString("\n## What a piece of a prompt costs\n\nLines fitted to the pieces above, no measurements themselves: ms = fixed + tokens x (each + deep x (position + tokens/2)).\n\n" +
		"| pieces | fixed, ms | each, ms | deep, ms | fitted to | largest difference |\n|---|---:|---:|---:|---:|---:|\n")
	row := func(what string, f *Fitted) {
		if f != nil {
			fmt.Fprintf(b, "| %s | %.3g | %.3g | %.3g | %d | %.0f %% |\n", what, f.Fixed, f.Each, f.Deep, f.Chunks, 100*f.Error)
		}
	}
	row(fmt.Sprintf("of fewer than %d tokens", WideFrom), r.Lines.Narrow)
	row(fmt.Sprintf("of %d tokens and more", WideFrom), r.Lines.Wide)
}

// mark stands at figures that other programs disturbed.
const mark = "†"

// shown is a value, marked where other programs disturbed it.
func shown(p Point) string {
	if p.Disturbed > 0 {
		return number(p.Value) + mark
	}
	return number(p.Value)
}

// ends says what was not measured, and remarks.
func (r *Report) ends(b *strings.Builder) {
	if r.disturbed() > 0 {
		fmt.Fprintf(b, "\n%s Other programs had the cores for more than %.0f %% of the time of this figure: it is too slow, or a step too long.\n", mark, 100*MostDisturbed)
	}
	b.WriteString("\n## What is here, and what is not\n\n| part | state | why |\n|---|---|---|\n")
	for _, p := range r.Parts {
		fmt.Fprintf(b, "| %s | %s | %s |\n", cell(cmp.Or(p.Title, p.Item)), p.State, cell(p.Why))
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range r.Notes {
		title := n.Item
		if i := slices.IndexFunc(r.Parts, func(s State) bool { return s.Item == n.Item && s.Title != "" }); i >= 0 {
			title = r.Parts[i].Title
		}
		fmt.Fprintf(b, "- %s: %s\n", cell(title), cell(n.Text))
	}
}

// disturbed is how many figures other programs disturbed.
func (r *Report) disturbed() (n int) {
	for _, p := range r.Points {
		if p.Disturbed > 0 {
			n++
		}
	}
	return n
}
