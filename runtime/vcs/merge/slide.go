package merge

// marks tells which lines of a text are changed. There is room for one unchanged
// line before the first and one behind the last, so that no loop needs a check.
type marks []bool

func newMarks(n int) marks { return make(marks, n+2) }

func (m marks) at(i int) bool      { return m[i+1] }
func (m marks) set(i int, on bool) { m[i+1] = on }

// A group is a run of changed lines, or the empty place between two lines that
// are not. Both texts of a comparison have equally many groups, which belong
// together one by one.
type group struct {
	class      []int32
	changed    marks
	start, end int
}

func firstGroup(class []int32, changed marks) *group {
	g := &group{class: class, changed: changed}
	g.stretch()
	return g
}

// stretch takes in what is changed behind the group.
func (g *group) stretch() {
	for g.changed.at(g.end) {
		g.end++
	}
}

// stretchUp takes in what is changed before the group.
func (g *group) stretchUp() {
	for g.changed.at(g.start - 1) {
		g.start--
	}
}

func (g *group) empty() bool { return g.start == g.end }

func (g *group) next() bool {
	if g.end == len(g.class) {
		return false
	}
	g.start, g.end = g.end+1, g.end+1
	g.stretch()
	return true
}

func (g *group) previous() {
	g.start, g.end = g.start-1, g.start-1
	g.stretchUp()
}

// up moves the group one line towards the beginning, if the line there equals its
// last one, and takes in groups that it meets.
func (g *group) up() bool {
	if g.start == 0 || g.class[g.start-1] != g.class[g.end-1] {
		return false
	}
	g.start, g.end = g.start-1, g.end-1
	g.changed.set(g.start, true)
	g.changed.set(g.end, false)
	g.stretchUp()
	return true
}

// down is up the other way.
func (g *group) down() bool {
	if g.end == len(g.class) || g.class[g.start] != g.class[g.end] {
		return false
	}
	g.changed.set(g.start, false)
	g.changed.set(g.end, true)
	g.start, g.end = g.start+1, g.end+1
	g.stretch()
	return true
}

// slide settles where changes of one text stand that could stand in several
// places: `a b [a b]` is `a [b a] b` as well. They go to the end, except that one
// that can stand opposite a change of the other text does: what is replaced and
// what replaces it belong together.
func slide(g, other *group, work *budget) {
	for {
		if !g.empty() {
			settle(g, other, work)
		}
		if work.spent() || !g.next() {
			return
		}
		other.next()
	}
}

func settle(g, other *group, work *budget) {
	var size, highest int
	var opposite bool
	for {
		size = g.end - g.start
		opposite = false
		for g.up() {
			other.previous()
			work.spend(1)
		}
		highest = g.end
		opposite = !other.empty()
		for g.down() {
			other.next()
			work.spend(1)
			opposite = opposite || !other.empty()
		}
		if size == g.end-g.start || work.spent() {
			break
		}
	}
	if g.end == highest || !opposite {
		return
	}
	for other.empty() {
		g.up()
		other.previous()
		work.spend(1)
	}
}
