package card

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// The size of a chart in pixels, and its margins.
const (
	svgWidth, svgHeight               = 720, 400
	svgLeft, svgRight, svgTop, svgLow = 70, 190, 50, 50
)

// colours of the series, in turn; told apart also by people who see few colours.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// chart maps values to pixels.
type chart struct {
	figure      Figure
	left, right float64   // of the values, as scaled
	low, top    float64   // of the axis; low is 0 but for logarithms
	xs          []float64 // of the points
}

// SVG draws a figure of a report. It reports false where there is nothing to draw.
func (r *Report) SVG(w io.Writer, f Figure) (bool, error) {
	series, points := r.of(f.Name)
	if f.X == "" || len(series) == 0 {
		return false, nil
	}
	c := newChart(f, points)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", svgWidth, svgHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", svgWidth, svgHeight)
	text(&b, svgLeft, 20, "start", "16", f.Title+" ("+f.Unit+")")
	text(&b, svgLeft, 38, "start", "11", r.Subject.Model+" on "+r.on())
	c.axes(&b)
	for i, s := range series {
		colour := colours[i%len(colours)]
		var path []string
		for _, p := range points[s] {
			x, y := c.x(p.X), c.y(p.Value)
			path = append(path, fmt.Sprintf("%.1f,%.1f", x, y))
			fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x, c.y(p.Low), x, c.y(p.High), colour)
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(path, " "), colour)
		y := float64(svgTop + 12 + 18*i)
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s" stroke-width="2"/>`+"\n", svgWidth-svgRight+10, y-4, svgWidth-svgRight+28, y-4, colour)
		text(&b, svgWidth-svgRight+34, y, "start", "12", s)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return true, err
}

func newChart(f Figure, points map[string][]Point) *chart {
	c := &chart{figure: f, left: math.Inf(1), right: math.Inf(-1)}
	least := math.Inf(1) // that a logarithm has
	for _, all := range points {
		for _, p := range all {
			x := c.scaled(p.X)
			c.left, c.right, c.top = min(c.left, x), max(c.right, x), max(c.top, p.High)
			if p.Low > 0 {
				least = min(least, p.Low)
			}
		}
	}
	c.xs = allX(points)
	if c.right == c.left {
		c.left, c.right = c.left-1, c.right+1
	}
	if f.LogY && c.top > leastLog {
		c.low, c.top = around(max(min(least, c.top), c.top*leastLog), c.top)
		return c
	}
	step := tick(c.top)
	c.top = cmp.Or(math.Ceil(c.top/step)*step, 1)
	return c
}

// leastLog is the smallest value, and the smallest part of the largest one, that
// lies on an axis of logarithms.
const leastLog = 1e-9

// scaled is a value on the axis; logarithms want positive ones.
func (c *chart) scaled(x float64) float64 {
	if c.figure.LogX {
		return math.Log2(max(x, 1))
	}
	return x
}

func (c *chart) x(v float64) float64 {
	return svgLeft + (c.scaled(v)-c.left)/(c.right-c.left)*(svgWidth-svgLeft-svgRight)
}

func (c *chart) y(v float64) float64 {
	part := v / c.top
	if c.low > 0 {
		part = math.Log(max(v, c.low)/c.low) / math.Log(c.top/c.low)
	}
	return svgHeight - svgLow - part*(svgHeight-svgTop-svgLow)
}

// ticks of the upright axis.
func (c *chart) ticks() (all []float64) {
	if c.low > 0 {
		return rounds(c.low, c.top)
	}
	step := tick(c.top)
	for i := 0; float64(i)*step <= c.top*1.0001; i++ {
		all = append(all, float64(i)*step)
	}
	return all
}

// rounds are 1, 2 and 5 times powers of ten between two of them; those of ten alone
// where they lie far apart.
func rounds(low, high float64) (all []float64) {
	steps := []float64{1, 2, 5}
	if high/low > 5000 {
		steps = steps[:1]
	}
	for ten := math.Floor(math.Log10(low)); math.Pow(10, ten) <= high*1.0001; ten++ {
		for _, m := range steps {
			if v := m * math.Pow(10, ten); v >= low*0.9999 && v <= high*1.0001 {
				all = append(all, v)
			}
		}
	}
	return all
}

// around are the nearest such numbers below one value and above another.
func around(least, most float64) (low, high float64) {
	low, high = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Floor(math.Log10(most)))
	for _, m := range []float64{5, 2} {
		if low*m <= least {
			low *= m
			break
		}
	}
	for _, m := range []float64{1, 2, 5, 10} {
		if high*m >= most {
			return low, max(high*m, 2*low)
		}
	}
	return low, 10 * high
}

// tick is a round step of which about five make a value.
func tick(top float64) float64 {
	if top <= 0 {
		return 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(top/5)))
	for _, m := range []float64{1, 2, 5} {
		if top/(ten*m) <= 6 {
			return ten * m
		}
	}
	return 10 * ten
}

// axes draws lines and numbers.
func (c *chart) axes(b *strings.Builder) {
	for _, v := range c.ticks() {
		y := c.y(v)
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>`+"\n", svgLeft, y, svgWidth-svgRight, y)
		text(b, svgLeft-6, y+4, "end", "12", number(v))
	}
	xs := c.xs
	if !c.figure.LogX && len(xs) > 8 {
		xs = nil
		step := tick(c.right - c.left)
		for v := math.Ceil(c.left/step) * step; v <= c.right*1.0001; v += step {
			xs = append(xs, v)
		}
	}
	for _, v := range xs {
		text(b, c.x(v), svgHeight-svgLow+18, "middle", "12", number(v))
	}
	text(b, (svgLeft+svgWidth-svgRight)/2, svgHeight-10, "middle", "12", c.figure.X)
}

// number has as many digits as mean something.
func number(v float64) string {
	if v == math.Trunc(v) || math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func text(b *strings.Builder, x, y float64, anchor, size, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%s">`, x, y, anchor, size)
	xml.EscapeText(b, []byte(s)) // a strings.Builder does not fail
	b.WriteString("</text>\n")
}
