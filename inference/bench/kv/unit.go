package kv

import (
	"context"
	"fmt"
	"time"
)

// unit is the least that is measured or left: all settings at one length.
type unit struct {
	name   string
	length int
	// of a text
	kind Kind
	text int
	// of a document
	task     Task
	document int
	// work is about how many tokens it computes.
	work int
}

// units in the order in which they are measured: rounds of one text of each kind, at
// all lengths, and one document of each task, so that an early end leaves some of all.
func (o *Options) units() (all []unit) {
	hot, settings := 1, 1
	for _, s := range o.Settings {
		settings++
		if s.Tier == Hot {
			hot++
		}
	}
	for round := range max(o.Texts, o.Documents) {
		for _, kind := range o.Kinds {
			before := 0
			for _, length := range o.Lengths {
				if round >= o.Texts {
					break
				}
				all = append(all, unit{
					name: fmt.Sprintf("%s %d, %d tokens", kind, round+1, length), length: length, kind: kind, text: round,
					work: hot*max(0, length-before) + settings*(o.Follow+o.Repeats*(repeatSpan+repeatCue)),
				})
				before = length + o.Follow
			}
		}
		for _, length := range o.TaskLengths {
			for _, task := range o.Tasks {
				if round >= o.Documents {
					break
				}
				if o.RulerMost > 0 && length > o.RulerMost && task != Needles && task != ManyQuestions {
					continue
				}
				all = append(all, unit{
					name: fmt.Sprintf("%s %d, %d tokens", task, round+1, length), length: length, task: task, document: round,
					work: hot*length + settings*questionsOf(task)*questionWork,
				})
			}
		}
	}
	return all
}

// questionWork is about what a question takes, in tokens.
const questionWork = 80

func questionsOf(t Task) int {
	switch t {
	case Needles:
		return len(depths)
	case ManyQuestions:
		return manyQuestions
	case MultiKey:
		return multiKeyQuestions
	}
	return 1
}

func (b *bench) measure(ctx context.Context, u unit) (d Done, err error) {
	if d.Unit = u.name; u.kind != "" {
		d.Samples, err = b.passageOf(ctx, u)
	} else {
		d.Replies, err = b.document(ctx, u)
	}
	if err != nil {
		return d, fmt.Errorf("%s: %w", u.name, err)
	}
	return d, nil
}

// late reports whether so much work would end after the time.
func (b *bench) late(work int) bool {
	if b.Time == 0 || b.done == 0 {
		return false
	}
	next := time.Duration(float64(b.spent) / float64(b.done) * float64(work))
	return time.Since(b.begun)+next > b.Time
}

func (b *bench) told(u unit, begun time.Time) {
	if b.Tell != nil {
		b.Tell(fmt.Sprintf("%d of %d: %s, %.1f s", b.out.Units, b.out.Of, u.name, time.Since(begun).Seconds()))
	}
}
