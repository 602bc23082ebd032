package speech

// Pids are the process ids of the running children.
func Pids(e *Engines) []int {
	var all []int
	for _, s := range []*slot{e.quick, e.slow} {
		if c := s.alive(); c != nil {
			all = append(all, c.PID())
		}
	}
	return all
}
