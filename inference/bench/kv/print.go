package kv

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes a report for people.
func (r Report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s on %s, dure %s, seed %d: %d of %d parts measured\n", r.Subject.Model, r.Subject.Engine, r.Subject.Dure, r.Seed, r.Units, r.Of)
	if r.Subject.Synthetic {
		fmt.Fprintln(out, "the weights are random: this shows that states are kept and set right, and nothing about quality")
	}
	fmt.Fprintf(out, "against f16 (%.0f bytes a token), %d tokens behind contexts of %v; 95 %% intervals over texts\n\n", r.BytesPerToken, r.Follow, r.Lengths)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tTIER\tBYTES/TOKEN\tRATIO\tKLD MEAN\tKLD 99.9 %\tMAX\tTOP-1\tREPEAT LOSS\tCONTEXTS\tVERDICT")
	for _, x := range r.Results {
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%.2f\t%s\t%s\t%.3f\t%s\t%s\t%d\t%s\n", x.Setting, x.Tier, x.BytesPerToken, x.Ratio,
			nats(x.Mean), nats(x.Tail), x.Max, percent(x.Top), signed(x.Repeat), x.Contexts, x.verdict())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := r.printLengths(out); err != nil {
		return err
	}
	return r.printTasks(out)
}

func (x Result) verdict() string {
	if x.Why == "" {
		return string(x.Verdict)
	}
	return string(x.Verdict) + ": " + x.Why
}

func nats(v Interval) string { return fmt.Sprintf("%.3g (%.3g..%.3g)", v.Value, v.Low, v.High) }

func signed(v Interval) string { return fmt.Sprintf("%+.4f (%+.4f..%+.4f)", v.Value, v.Low, v.High) }

func percent(v Interval) string {
	return fmt.Sprintf("%.2f %% (%.2f..%.2f)", 100*v.Value, 100*v.Low, 100*v.High)
}

// printLengths is the mean divergence, and the top-1 agreement, by length and kind.
func (r Report) printLengths(out io.Writer) error {
	if len(r.Results) == 0 || len(r.Results[0].ByLength)+len(r.Results[0].ByKind) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "KLD MEAN, TOP-1")
	for _, p := range r.Results[0].ByLength {
		fmt.Fprintf(w, "\t%d", p.Length)
	}
	for _, p := range r.Results[0].ByKind {
		fmt.Fprintf(w, "\t%s", p.Kind)
	}
	fmt.Fprintln(w)
	for _, x := range r.Results {
		fmt.Fprint(w, x.Setting)
		for _, p := range append(append([]Part{}, x.ByLength...), x.ByKind...) {
			fmt.Fprintf(w, "\t%.3g %.1f %%", p.Mean.Value, 100*p.Top.Value)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// printTasks is, of the questions that the full cache answers, how many the setting
// does.
func (r Report) printTasks(out io.Writer) error {
	if len(r.Results) == 0 || len(r.Results[0].Tasks) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "KEPT OF SOLVED")
	for _, t := range r.Results[0].Tasks {
		if t.Length == 0 {
			fmt.Fprintf(w, "\t%s", t.Task)
		}
	}
	fmt.Fprintln(w, "\tRETENTION\tANSWERS' LOGPROB LOSS")
	for _, x := range r.Results {
		fmt.Fprint(w, x.Setting)
		for _, t := range x.Tasks {
			if t.Length == 0 {
				fmt.Fprintf(w, "\t%d of %d", t.Kept, t.Full)
			}
		}
		fmt.Fprintf(w, "\t%s\t%+.4f\n", percent(x.Tasks[0].Retention), x.Tasks[0].Logprob)
	}
	return w.Flush()
}
