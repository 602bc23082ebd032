package sched

import "slices"

// Row is one sequence that decodes a token in this step.
type Row struct {
	ID   ID
	Slot int
}

// Chunk is the piece of a prompt that is read in this step: tokens
// [From, From+N). Last says that it ends the prompt, Stop that it ends at one of
// the stops. N = 0 means none.
type Chunk struct {
	ID   ID
	Slot int
	From int
	N    int
	Last bool
	Stop bool
}

// Step is what to compute now: first one decode of all rows, then one chunk.
// Decode is ordered by slot and borrowed until the next call of Next.
type Step struct {
	Decode  []Row
	Prefill Chunk
}

// Empty reports whether there is nothing to compute.
func (s Step) Empty() bool { return len(s.Decode) == 0 && s.Prefill.N == 0 }

// overdue, times the prompts being read, is after how many chunks of others a
// prompt is read next whatever else there is. So each gets a chunk at least every
// (overdue+1) x prompts being read.
const overdue = 4

// Next says what to compute. It changes nothing that Read and Decoded do not tell.
func (s *Scheduler) Next(now Tick) Step {
	s.tick(now)
	s.rows, s.decoding = s.rows[:0], s.decoding[:0]
	for _, r := range s.running {
		if !r.reading() && !r.blocked && !r.held {
			s.rows = append(s.rows, Row{ID: r.id, Slot: r.slot})
			s.decoding = append(s.decoding, r)
		}
	}
	step := Step{Decode: s.rows}
	if r := s.nextPrompt(); r != nil {
		step.Prefill = s.chunk(r)
	}
	return step
}

// nextPrompt is the prompt to read from: one that is overdue, else of the best
// class one that others wait for, else the one with the least left, else the one
// that came first.
func (s *Scheduler) nextPrompt() *request {
	var best, late *request
	var bestClass Priority
	prompts := uint64(0)
	for _, r := range s.running {
		if !r.reading() || r.held {
			continue
		}
		prompts++
		if late == nil || r.lastChunk < late.lastChunk || r.lastChunk == late.lastChunk && r.serial < late.serial {
			late = r
		}
		c := s.readClass(r)
		if best == nil || c < bestClass || c == bestClass && readBefore(r, best) {
			best, bestClass = r, c
		}
	}
	if late != nil && s.chunks-late.lastChunk >= overdue*prompts {
		return late
	}
	return best
}

// readBefore is the order of reading within a class.
func readBefore(a, b *request) bool {
	if la, lb := len(a.followers) > 0, len(b.followers) > 0; la != lb {
		return la
	}
	if la, lb := a.left(), b.left(); la != lb {
		return la < lb
	}
	return a.serial < b.serial
}

func (s *Scheduler) chunk(r *request) Chunk {
	end := len(r.tokens)
	i, found := slices.BinarySearch(r.stops, r.read+1)
	if found || i < len(r.stops) {
		end = min(end, r.stops[i])
	}
	n := s.piece(end-r.read, s.chunkSize(len(s.rows), r.read))
	end = r.read + n
	return Chunk{
		ID: r.id, Slot: r.slot, From: r.read, N: n,
		Last: end == len(r.tokens), Stop: i < len(r.stops) && end == r.stops[i],
	}
}

// piece is how much of what is left to read in a chunk that may have size: a
// little more where that ends it, and less where the rest would be too small to
// be worth a call of its own.
func (s *Scheduler) piece(left, size int) int {
	least, rest := s.limits.MinChunk, left-size
	good := max(least, s.limits.Wide)
	switch {
	case rest <= 0:
		return left
	case size == s.limits.Chunk || rest >= good:
		return size
	case left <= s.limits.Chunk && (rest <= least/2 || left < 2*least):
		return left
	case left < 2*good:
		return size
	}
	return left - good
}

// Read records that n more tokens of a running request's prompt are in the cache,
// and what that took. It does nothing for one that went meanwhile.
func (s *Scheduler) Read(id ID, n int, took Tick) {
	r := s.byID[id]
	if r == nil || r.slot < 0 || n < 1 {
		return
	}
	n = min(n, r.left())
	s.cost.read(s.limits, r.read, n, took)
	r.read += n
	r.charge(n)
	s.chunks++
	r.lastChunk = s.chunks
	if len(r.followers) > 0 && r.read >= r.wake {
		s.freeFollowers(r, func(f *request) bool { return r.read >= f.until })
	}
}
