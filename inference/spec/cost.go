package spec

import "math"

// sizes are the numbers of rows of a step that are told apart. From 64 rows on the
// engine's attention on CPUs takes a path of its own, which costs half: hence no
// size between 48 and that.
var sizes = [...]int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128}

// wide is the number of rows from which on a chunk of a prompt costs what a step of
// as many rows does.
const wide = 64

// size is the place in sizes of the largest that is not above rows.
func size(rows int) int {
	i := 0
	for i+1 < len(sizes) && sizes[i+1] <= rows {
		i++
	}
	return i
}

// point is what steps of a size take.
type point struct {
	took float64 // ns; 0 = not known
	seen bool    // measured, not taken over from another curve
	at   int     // when, in steps of the curve
}

// weight of what was known against a new measurement. One that is far above is
// believed in part only: something else took the machine.
const (
	weight  = 3
	outlier = 3
)

// curve is what steps take by their rows, for a number of streams with contexts of
// about the same length.
type curve struct {
	points [len(sizes)]point
	steps  int
}

func (c *curve) see(rows int, took float64) {
	c.steps++
	p := &c.points[size(rows)]
	took *= float64(sizes[size(rows)]) / float64(rows) // as if it had just that size
	switch {
	case !p.seen:
		if p.took > 0 && size(rows) == c.first() {
			c.scale(took / p.took)
		}
		p.took = took
	default:
		p.took = (weight*p.took + min(took, outlier*p.took)) / (weight + 1)
	}
	p.seen, p.at = true, c.steps
}

// first is the smallest size that is known, of steps without guesses in most cases.
func (c *curve) first() int {
	for i := range c.points {
		if c.points[i].took > 0 {
			return i
		}
	}
	return 0
}

// scale corrects what was taken over from another curve.
func (c *curve) scale(by float64) {
	for i := range c.points {
		if !c.points[i].seen {
			c.points[i].took *= by
		}
	}
}

// old is after how many steps of a curve a measurement is doubted, and hope the part
// of it that such a size is then taken to cost, so that it is tried again.
const (
	old  = 400
	hope = 0.8
)

// rowHope is the part of a row's cost that a further one is taken to have where no
// step with guesses was ever made.
const rowHope = 0.4

// took is what a step of so many rows is taken to cost: as measured, else between
// the nearest sizes that were, else on the line through the smallest and the largest.
// 0 where nothing is known.
func (c *curve) took(rows int) float64 {
	at := size(rows)
	if p := c.points[at]; p.took > 0 {
		took := p.took * float64(rows) / float64(sizes[at])
		if p.seen && c.steps-p.at > old {
			took *= hope
		}
		return took
	}
	low, high := at-1, at+1
	for low >= 0 && c.points[low].took == 0 {
		low--
	}
	for high < len(sizes) && c.points[high].took == 0 {
		high++
	}
	switch {
	case low >= 0 && high < len(sizes):
		part := float64(rows-sizes[low]) / float64(sizes[high]-sizes[low])
		return c.points[low].took + part*(c.points[high].took-c.points[low].took)
	case low >= 0 && low == c.first(): // nothing is known of guesses: try and see
		return c.points[low].took * (1 + rowHope*float64(rows-sizes[low])/float64(sizes[low]))
	case low >= 0:
		one, last := c.points[c.first()].took, c.points[low].took
		each := max(0, last-one) / float64(sizes[low]-sizes[c.first()])
		return last + each*float64(rows-sizes[low])
	}
	return 0
}

// costs are curves by number of streams and mean length of their contexts.
type costs struct {
	curves map[where]*curve
}

type where struct{ streams, context int }

// place of a step: streams up to 8 are told apart, then by powers of two; contexts
// by steps of two halves of an octave from 256 on.
func place(streams, context int) where {
	if streams > 8 {
		streams = 1 << int(math.Round(math.Log2(float64(streams))))
	}
	return where{streams, int(math.Round(2 * math.Log2(max(float64(context), 256)/256)))}
}

// of returns the curve of a place. A new one begins as a copy of the nearest one of
// as many streams, or else of another number: a row is a row, more or less.
func (c *costs) of(at where) *curve {
	if x := c.curves[at]; x != nil {
		return x
	}
	x := &curve{}
	if near := c.nearest(at); near != nil {
		x.points = near.points
		for i := range x.points {
			x.points[i].seen = false
		}
	}
	if c.curves == nil {
		c.curves = map[where]*curve{}
	}
	c.curves[at] = x
	return x
}

// nearest curve, whatever the order of the map; nil for none.
func (c *costs) nearest(at where) (best *curve) {
	least := where{math.MaxInt, 0}
	for w, x := range c.curves {
		// Another number of streams is further than any other length.
		d := where{2 * abs(w.streams-at.streams), 2 * abs(w.context-at.context)}
		if w.streams > at.streams {
			d.streams++
		}
		if w.context > at.context {
			d.context++
		}
		if best == nil || d.streams < least.streams || d.streams == least.streams && d.context < least.context {
			best, least = x, d
		}
	}
	return best
}

// read is what a chunk of a prompt says of steps with as many rows: it seeds what was
// never measured.
func (c *costs) read(context, tokens int, took float64) {
	c.of(place(1, context))
	length := place(1, context).context
	for w, x := range c.curves {
		if w.context != length {
			continue
		}
		for i := size(wide); i < len(sizes); i++ {
			if p := &x.points[i]; !p.seen {
				p.took = took * float64(sizes[i]) / float64(tokens)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }
