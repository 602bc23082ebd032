package swarm

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Row 18: each mark is told once to each agent.
func TestTimeLeft(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Time = time.Hour }, step("one"), Spawn{Title: "two", After: []TaskID{"t2"}})
	if at := b.s.Wake(b.now); !at.Equal(dawn.Add(10 * time.Minute)) { // the first checklist
		t.Errorf("wakes at %v", at)
	}
	told := map[string]int{}
	for b.s.Finished() == nil {
		b.now = b.now.Add(time.Minute)
		for _, e := range b.settle() {
			if tell, ok := e.(Tell); ok {
				if strings.HasPrefix(tell.Ref, "time/") {
					told[tell.Agent+" "+tell.Ref]++
				}
				b.apply(Delivered{Agent: tell.Agent, Ref: tell.Ref})
			}
		}
	}
	if len(told) != 2*4 {
		t.Errorf("told %v", told)
	}
	for what, n := range told {
		if n != 1 {
			t.Errorf("%s %d times", what, n)
		}
	}
	if f := b.s.Finished(); f.Finish != FinishTime || !b.now.Equal(dawn.Add(time.Hour)) {
		t.Errorf("finished %+v at %v", f, b.now)
	}
}

// Pauses do not count, and nothing new begins in one.
func TestPause(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Time = time.Hour }, step("one"))
	b.apply(Paused{By: "ada", Reason: "lunch"})
	b.report("t2", "")
	b.now = b.now.Add(2 * time.Hour)
	b.begins()
	b.apply(Steered{Agent: b.lead(), By: "ada", Text: "hello", Ref: "steer/9"})
	b.begins("tell " + b.lead() + " steer/9") // it can still be spoken to
	b.apply(Resumed{By: "ada"})
	b.begins("check t2/1")
	if at := b.s.Deadline(); !at.Equal(dawn.Add(3 * time.Hour)) {
		t.Errorf("deadline %v", at)
	}
}

// Row 65: a checklist after so many turns, or so many minutes without one.
func TestChecklist(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.ChecklistTurns, p.Limits.ChecklistIdle = 5, 10*time.Minute }, step("one"))
	agent := b.task("t2").Agent
	for turn := 1; turn <= 10; turn++ {
		b.now = b.now.Add(time.Minute)
		b.s.Pulse(agent, turn, b.now)
		var want []string
		if turn%5 == 0 {
			want = []string{fmt.Sprintf("tell %s checklist/%d", agent, turn/5)}
		}
		b.begins(want...)
	}
	b.now = b.now.Add(9 * time.Minute)
	b.begins()
	b.now = b.now.Add(time.Minute)
	b.begins("tell " + agent + " checklist/3")
	b.now = b.now.Add(9 * time.Minute)
	b.begins()
	b.now = b.now.Add(time.Minute)
	b.begins("tell " + agent + " checklist/4")
}

// Row 20: a run that is out of time goes on when it gets more, with the same agents.
func TestExtend(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Time = time.Hour }, step("one"), step("two"))
	b.report("t3", "")
	before := b.atWork()
	b.now = b.now.Add(time.Hour)
	b.begins()
	if f := b.s.Finished(); f == nil || f.Finish != FinishTime {
		t.Fatalf("finished %+v", f)
	}
	if _, err := b.s.extension("ada", Limits{Agents: 9}); err == nil {
		t.Error("a run without time goes on without more")
	}
	b.now = b.now.Add(24 * time.Hour)
	p, err := b.s.extension("ada", Limits{Time: 12 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(p)
	b.begins("work t2/1", "check t3/1")
	if fmt.Sprint(b.atWork()) != fmt.Sprint(before) {
		t.Error("not the same agents")
	}
	if at := b.s.Deadline(); !at.Equal(b.now.Add(12 * time.Hour)) {
		t.Errorf("deadline %v, now %v", at, b.now)
	}
}

// A run that was done goes back to its lead when it is extended.
func TestExtendWhatIsDone(t *testing.T) {
	b := approved(t, nil, step("one"))
	b.finish("t2")
	b.report(Root, "done")
	b.settle()
	b.verify(true)
	b.settle()
	lead := b.lead()
	p, err := b.s.extension("ada", Limits{Returns: 5})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(p)
	b.begins("work t1/3")
	if b.lead() != lead {
		t.Errorf("%s leads, it was %s", b.lead(), lead)
	}
}
