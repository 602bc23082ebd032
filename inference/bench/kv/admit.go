package kv

import "fmt"

// Known is what was measured of a setting for a model; Measured is false where nothing
// was.
type Known struct {
	Measured bool
	Figures
	// Reach is the longest context that was measured, in tokens.
	Reach int
}

// Admission says whether a setting may be used, and what is to be said of it.
type Admission struct {
	Refused bool
	// Loss is what is known, for a listing: "exact", "mean KLD 0.0023, top-1 98.6 %",
	// "not measured".
	Loss string
	// Notice is what every answer says; empty for an exact setting.
	Notice string
	// Why it was refused.
	Why string
}

// Losses that are no figures.
const (
	ExactLoss   = "exact"
	NotMeasured = "not measured"
)

// Unread is for a setting with a loss where what was measured cannot be read.
func Unread(name string, why error, force bool) Admission {
	a := Admission{Loss: "not known", Refused: !force}
	if a.Refused {
		a.Why = fmt.Sprintf("%s loses precision, and what was measured of it cannot be read: %v", name, why)
	} else {
		a.Notice = fmt.Sprintf("%s is in use by --force: it loses precision, and what was measured of it cannot be read", name)
	}
	return a
}

// Admit decides about the use of a setting of a model. Name is for messages ("KV cache
// q4_0"), model what `dure bench kv` would be given. Lossless ones pass always; what is
// over the bound passes by force only, and is then said to; what was not measured, or
// too little, passes and is said to.
func (b Bound) Admit(name, model string, lossless bool, k Known, force bool) (a Admission) {
	if lossless {
		a.Loss = ExactLoss
		return a
	}
	measure := fmt.Sprintf("`dure bench kv %s` measures it", model)
	if !k.Measured {
		a.Loss = NotMeasured
		a.Notice = fmt.Sprintf("%s loses precision: not measured for this model; %s", name, measure)
		return a
	}
	figures := fmt.Sprintf("mean KLD %.2g, top-1 %.1f %%", k.Mean, 100*k.Top)
	if k.Reach > 0 {
		figures += fmt.Sprintf(", contexts to %d tokens", k.Reach)
	}
	a.Loss = figures
	switch verdict, why := b.Judge(k.Figures); verdict {
	case Over:
		a.Loss += " (over the bound)"
		if a.Refused = !force; a.Refused {
			a.Why = fmt.Sprintf("%s loses more than may be lost with this model: %s", name, why)
			return a
		}
		a.Notice = fmt.Sprintf("%s is in use by --force: its measured loss is over the bound: %s", name, why)
	case TooThin:
		a.Loss += fmt.Sprintf(" (%d tokens compared, too few for a verdict)", k.Rows)
		a.Notice = fmt.Sprintf("%s loses precision: %s (%s); %s", name, figures, why, measure)
	default:
		a.Notice = fmt.Sprintf("%s loses precision: %s", name, a.Loss)
	}
	return a
}
