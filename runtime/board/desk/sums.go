package desk

import (
	"context"
	"fmt"

	"dure/runtime/board"
	"dure/runtime/event"
)

// sumEvery is after how many events the sums are written; more, if they are more
// counts than that, so that they take no more room than what they sum up.
const sumEvery = 256

// begin takes the last sums that were written.
func (a *account) begin(ctx context.Context) error {
	last, err := a.log.Last(ctx, board.SumStream)
	if err != nil || last == 0 {
		return err
	}
	// The last event says of how many it is one.
	first := last
	for from := last; ; from = first {
		parts := 0
		for e, err := range a.log.Read(ctx, board.SumStream, from) {
			if err != nil {
				return err
			}
			if e.Sequence > last {
				break // of another process, since
			}
			s, err := board.SummedType.Decode(e)
			if err != nil {
				return err
			}
			if s.Parts < 1 || event.Sequence(s.Parts) > last {
				return fmt.Errorf("%w: sums in %d parts end at %d", board.ErrDamaged, s.Parts, last)
			}
			if parts++; parts == 1 {
				a.at, a.summed = s.Upto, s.Upto
				first = last + 1 - event.Sequence(s.Parts)
				clear(a.sums)
			}
			a.plus(s.Counts)
		}
		if from == first {
			break
		}
	}
	end, err := a.log.Last(ctx, board.UsageStream)
	if err == nil && a.at > end {
		err = fmt.Errorf("%w: sums of %d events, there are %d", board.ErrDamaged, a.at, end)
	}
	return err
}

func (a *account) plus(counts []board.Count) {
	for _, c := range counts {
		a.sums[c.Use] += c.N
	}
}

// fold adds what the log has beyond the sums.
func (a *account) fold(ctx context.Context) error {
	for e, err := range a.log.Read(ctx, board.UsageStream, a.at+1) {
		if err != nil {
			return err
		}
		used, err := board.UsedType.Decode(e)
		if err != nil {
			return err
		}
		a.plus(used.Counts)
		a.at = e.Sequence
	}
	a.behind = false
	return nil
}

// count adds an event that is in the log. If others are before it that are not added
// yet, of another process or of an append that seemed to fail, the log is read.
func (a *account) count(seq event.Sequence, counts []board.Count) {
	a.folding.Lock()
	defer a.folding.Unlock()
	if a.behind || seq != a.at+1 {
		a.behind = true
		return
	}
	a.plus(counts)
	a.at = seq
}

// sum writes the sums down, if there is much that they sum up. Without them opening
// takes longer, and nothing else.
func (a *account) sum() {
	a.folding.Lock()
	defer a.folding.Unlock()
	ctx := context.Background()
	if a.behind {
		if err := a.fold(ctx); err != nil {
			a.logger.Warn("board cannot read what was counted, and tries again", "error", err)
			return
		}
	}
	if int(a.at-a.summed) < max(a.every, len(a.sums)) {
		return
	}
	a.summed = a.at // or the next time
	if err := a.writeSums(ctx); err != nil {
		a.logger.Warn("board did not write down the sums of what was counted; opening it takes longer", "error", err)
	}
}

func (a *account) writeSums(ctx context.Context) error {
	sorted := board.Sum(toCounts(a.sums))
	parts := (len(sorted) + maxUses - 1) / maxUses
	events := make([]event.Event, parts)
	for i := range events {
		var err error
		part := sorted[i*maxUses : min(len(sorted), (i+1)*maxUses)]
		if events[i], err = board.SummedType.New(board.Summed{Upto: a.at, Parts: parts, Counts: part}); err != nil {
			return err
		}
	}
	_, err := a.log.Append(ctx, board.SumStream, event.Any, events...)
	return err
}
