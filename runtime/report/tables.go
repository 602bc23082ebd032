package report

import (
	"dure/runtime/board"
	"dure/runtime/event"
)

// used adds what agents did with the shared tables. Sums of the store repeat what was
// counted.
func (f *fold) used(e event.Event) error {
	if e.Type != board.UsedType.Name() {
		return nil
	}
	p, err := board.UsedType.Decode(e)
	if err != nil {
		return err
	}
	for _, c := range p.Counts {
		if f.r.Tables[c.Table] == nil {
			f.r.Tables[c.Table] = Counts{}
		}
		f.r.Tables[c.Table][string(c.Kind)] += c.N
	}
	return nil
}
