package judge

import "fmt"

// Open says what becomes of a call that the rules leave open where there is no model to
// ask. It never stops the team: nothing is known against the call.
type Open string

const (
	// OpenScripts, the default, refuses what is not known as ordinary (NotOrdinary) and
	// what runs text that nobody has read
	// (UnknownScript), and lets through a program whose name stands in a variable.
	OpenScripts Open = ""
	// OpenRefuse refuses both: for teams whose commands are all to be readable.
	OpenRefuse Open = "refuse"
	// OpenAllow lets both through; the sandbox holds.
	OpenAllow Open = "allow"
)

// Valid says whether it is one of these.
func (o Open) Valid() error {
	switch o {
	case OpenScripts, OpenRefuse, OpenAllow:
		return nil
	}
	return fmt.Errorf("judge: open %q; it can be refuse, allow, or empty: refuse scripts alone", string(o))
}

// settle makes a decision of a finding that is open.
func (o Open) settle(f Finding) Finding {
	if f.Action != "open" {
		return f
	}
	f.Action = "note"
	if o == OpenRefuse || o == OpenScripts && f.Rule != UnknownProgram {
		f.Action = "refuse"
	}
	return f
}
