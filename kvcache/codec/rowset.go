package codec

// rows of a pool by how they are coded.
type rowSets struct {
	// first and last are of lossless and of finer numbers, body of the others.
	first, body, last []int32
	// turns of body and last, by rotary.
	turns map[Rotary]*[2]*turns
}

// sets sorts rows by their position: the first ones take the attention that
// nothing else gets, the last ones matter most for what follows.
func sets(pos []int32, first, last int) *rowSets {
	s := &rowSets{turns: map[Rotary]*[2]*turns{}}
	end := int32(0)
	for _, p := range pos {
		end = max(end, p)
	}
	for i, p := range pos {
		switch {
		case int(p) < first:
			s.first = append(s.first, int32(i))
		case int(p) > int(end)-last:
			s.last = append(s.last, int32(i))
		default:
			s.body = append(s.body, int32(i))
		}
	}
	return s
}

// turnsOf rows [from, to) of body (0) or last (1); nil for a plane that is not
// turned.
func (s *rowSets) turnsOf(p *plane, set, from, to int) *turns {
	both := s.turns[p.heads.Rotary]
	if both == nil || p.kind != keys {
		return nil
	}
	return both[set].rows(from, to)
}

// prepare is for the goroutine that hands out the work.
func (s *rowSets) prepare(r Rotary, pos []int32) {
	if r.Dims == 0 || s.turns[r] != nil {
		return
	}
	of := func(rows []int32) *turns {
		sub := make([]int32, len(rows))
		for k, i := range rows {
			sub[k] = pos[i]
		}
		return newTurns(r, sub)
	}
	s.turns[r] = &[2]*turns{of(s.body), of(s.last)}
}
