package swarm

import "slices"

// order is a set of numbers in their order. A run has some thousand tasks and agents:
// moving some kilobytes at each change is cheaper than a tree.
type order []int

func (o *order) add(n int) {
	if i, found := slices.BinarySearch(*o, n); !found {
		*o = slices.Insert(*o, i, n)
	}
}

func (o *order) remove(n int) {
	if i, found := slices.BinarySearch(*o, n); found {
		*o = slices.Delete(*o, i, i+1)
	}
}

// set adds or removes.
func (o *order) set(n int, in bool) {
	if in {
		o.add(n)
	} else {
		o.remove(n)
	}
}

// before is how many are smaller.
func (o order) before(n int) int {
	i, _ := slices.BinarySearch(o, n)
	return i
}
