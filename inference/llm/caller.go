package llm

import (
	"hash/fnv"
	"slices"
	"time"

	"dure/inference"
	"dure/inference/engine"
	"dure/inference/sched"
	"dure/kvcache"
)

// caller is inference.Caller as scheduler and cache take it.
type caller struct {
	session  kvcache.SessionID
	agent    uint64
	priority sched.Priority
	deadline time.Duration // after the submission; 0 = none
	next     kvcache.Phase
	// marks are where later prompts may branch, pin the position up to which the
	// prompt is pinned.
	marks []int
	pin   int
}

var priorities = map[inference.Priority]sched.Priority{
	"":                            sched.Interactive,
	inference.PriorityInteractive: sched.Interactive,
	inference.PriorityPlanner:     sched.Planner,
	inference.PriorityMerge:       sched.Merge,
	inference.PriorityWorker:      sched.Worker,
	inference.PriorityBackground:  sched.Background,
}

// rankOf a priority, for what is kept of its state.
func rankOf(p sched.Priority) kvcache.Rank {
	switch p {
	case sched.Interactive:
		return kvcache.Interactive
	case sched.Background:
		return kvcache.Background
	}
	return kvcache.Ordinary
}

var phases = map[inference.Phase]kvcache.Phase{
	"":                     kvcache.Idle,
	inference.PhaseWaiting: kvcache.Waiting,
	inference.PhaseIdle:    kvcache.Idle,
	inference.PhaseEnded:   kvcache.Ended,
}

func (l *LLM) caller(req *inference.Request, prompt []engine.Token) (c caller, err error) {
	q := &req.Caller
	var ok bool
	if c.priority, ok = priorities[q.Priority]; !ok {
		return c, refuse("priority", "priority %q is not known", q.Priority)
	}
	if c.next, ok = phases[q.Next]; !ok {
		return c, refuse("next", "phase %q is not known", q.Next)
	}
	if q.DeadlineMS < 0 {
		return c, refuse("deadline_ms", "deadline_ms is %d, must not be negative", q.DeadlineMS)
	}
	c.deadline = time.Duration(q.DeadlineMS) * time.Millisecond
	c.session, c.agent = kvcache.SessionID(number(q.Session)), number(q.Agent)
	if q.Session == "" && q.Next == "" {
		c.next = kvcache.Unknown
	}
	turns := l.turns(prompt)
	c.marks = kvcache.SpanMarks(turns, len(prompt), longSpan)
	if q.PinPrefix {
		c.pin = len(prompt)
		if req.Prompt == nil {
			c.pin = beforeLast(turns)
		}
	}
	return c, nil
}

// longSpan bounds the tokens between two places where a prompt can be resumed.
const longSpan = 2048

// turns are the positions behind the tokens that end a message: where prompts of
// agents that share their beginning part.
func (l *LLM) turns(prompt []engine.Token) (marks []int) {
	for i, t := range prompt {
		if l.vocabulary.IsEOG(t) {
			marks = append(marks, i+1)
		}
	}
	return slices.Clip(marks)
}

// beforeLast is where the last message begins.
func beforeLast(turns []int) int {
	if len(turns) < 2 {
		return 0
	}
	return turns[len(turns)-2]
}

// number is a name as the cache and the scheduler take it, 0 for none. Two names
// with the same number share the preference for a sequence, nothing else: tokens
// are compared on every hit.
func number(name string) uint64 {
	if name == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return max(h.Sum64(), 1)
}
