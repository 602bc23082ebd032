package audio

import "fmt"

// Ledger counts every sample of a session. All figures are at Rate.
type Ledger struct {
	// Received from the client and taken; Processed by the detector; Refused because
	// the buffer was full or the bytes were no sound.
	// LeftOut of Received were not given to a speech model that could not keep up.
	Received, Processed, Refused, LeftOut Samples
	// Synthesised for answers; of these Sent; Dropped because the answer was stopped,
	// Queued for their time. Concealed were made for underruns and are in Synthesised.
	Synthesised, Sent, Dropped, Queued, Concealed Samples
	// Skipped of Sent were not delivered to a client that read too slowly.
	Skipped Samples
}

// Check says what does not add up.
func (l *Ledger) Check() error {
	switch {
	case l.Processed > l.Received:
		return fmt.Errorf("%d samples were processed, %d received", l.Processed, l.Received)
	case l.Synthesised != l.Sent+l.Dropped+l.Queued:
		return fmt.Errorf("%d samples were synthesised; %d sent + %d dropped + %d queued", l.Synthesised, l.Sent, l.Dropped, l.Queued)
	case l.Queued < 0 || l.Sent < 0 || l.Dropped < 0 || l.Concealed > l.Synthesised || l.Skipped > l.Sent:
		return fmt.Errorf("a count that cannot be: %+v", *l)
	}
	return nil
}
