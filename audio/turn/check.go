package turn

import (
	"fmt"

	"dure/audio"
)

// Check proves what always holds of a State, for tests and for a session that is idle. Its
// error says what does not.
func (s *State) Check() error {
	if err := s.checkResponses(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, it := range s.items {
		if it.ID == "" || seen[it.ID] {
			return fmt.Errorf("the item id %q is there twice, or empty", it.ID)
		}
		seen[it.ID] = true
		for _, p := range it.Parts {
			if p.Cut && p.Samples > it.sent {
				return fmt.Errorf("item %s: %d samples heard of %d sent", it.ID, p.Samples, it.sent)
			}
		}
	}
	for _, l := range s.listening {
		if l.open != (l.item == s.in.speech && l.item != "") {
			return fmt.Errorf("item %s: its speech goes on is %t, and the speech under way is %q", l.item, l.open, s.in.speech)
		}
		if !l.open && !seen[l.item] {
			return fmt.Errorf("item %s: its transcript is awaited, and it is not in the conversation", l.item)
		}
	}
	in := &s.in
	if in.start > in.end || in.heardTo > in.end || in.speech != "" && (in.from > in.onset || in.onset > in.last || in.last > in.heardTo) {
		return fmt.Errorf("the input's places are out of order: %+v", *in)
	}
	if in.end-in.start > s.rules.MostInput {
		return fmt.Errorf("%d samples wait for their commit, at most %d may", in.end-in.start, s.rules.MostInput)
	}
	if s.closed && (len(s.live) > 0 || len(s.tasks) > 0 || len(s.listening) > 0) {
		return fmt.Errorf("closed with %d responses, %d tasks and %d transcripts under way", len(s.live), len(s.tasks), len(s.listening))
	}
	return nil
}

func (s *State) checkResponses() error {
	var waiting audio.Samples
	for i, r := range s.live {
		if !r.OutOfBand && i > 0 {
			return fmt.Errorf("response %s: a second one of the conversation is active", r.ID)
		}
		if r.sent < 0 || r.sent > r.generated || r.played > r.sent {
			return fmt.Errorf("response %s: %d samples played, %d sent, %d synthesised", r.ID, r.played, r.sent, r.generated)
		}
		waiting += r.generated - r.sent
		at := audio.Samples(0)
		for n, u := range r.said {
			if u.n != n || u.to < u.from || n > 0 && u.done && !r.said[n-1].done {
				return fmt.Errorf("response %s: utterance %d is out of order", r.ID, n)
			}
			if u.to > u.from && u.from != at {
				return fmt.Errorf("response %s: utterance %d begins at %d, the sound before it ends at %d", r.ID, n, u.from, at)
			}
			at = max(at, u.to)
		}
		if at != r.generated {
			return fmt.Errorf("response %s: utterances hold %d samples, %d were synthesised", r.ID, at, r.generated)
		}
		if r.answered && !r.audible() {
			return fmt.Errorf("response %s: nothing more is to come, and it has not ended", r.ID)
		}
		if s.isTask(r.ID) {
			return fmt.Errorf("response %s: active, and a task without a response", r.ID)
		}
	}
	if s.created-s.done != int64(len(s.live)) {
		return fmt.Errorf("%d responses began, %d ended, %d are active", s.created, s.done, len(s.live))
	}
	if s.generated != s.sent+s.dropped+waiting {
		return fmt.Errorf("%d samples were synthesised; %d sent + %d dropped + %d waiting", s.generated, s.sent, s.dropped, waiting)
	}
	return nil
}
