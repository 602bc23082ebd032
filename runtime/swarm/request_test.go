package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// session is a run that goes on in the background while a test makes requests.
type session struct {
	*testing.T
	log *memory
	w   *script
	end chan error
}

func open(t *testing.T, pace time.Duration, plan map[string][]Spawn, change func(*Started)) *session {
	t.Helper()
	p := Started{Spec: "a house", Check: "make test", Limits: Limits{Agents: 2}}
	if change != nil {
		change(&p)
	}
	s := &session{T: t, log: &memory{}, w: newScript(t, plan), end: make(chan error, 1)}
	s.w.pace = pace
	if err := Begin(t.Context(), s.log, time.Now(), p); err != nil {
		t.Fatal(err)
	}
	s.run()
	return s
}

func (s *session) run() {
	s.w.c = New(s.log, s.w, time.Now, quiet)
	c := s.w.c
	go func() {
		_, err := c.Run(s.Context())
		s.end <- err
	}()
	synctest.Wait()
}

func (s *session) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *session) refused(err error, part string) {
	s.Helper()
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), part) {
		s.Fatalf("got %v, want it refused with %q", err, part)
	}
}

func (s *session) state() *State {
	s.Helper()
	st, err := Load(s.Context(), s.log)
	s.ok(err)
	return st
}

// after lets time pass.
func (s *session) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *session) finished() *State {
	s.Helper()
	s.ok(<-s.end)
	st := s.state()
	if st.Finished() == nil {
		s.Fatal("the run did not finish")
	}
	return st
}

var small = map[string][]Spawn{"the specification": {{Title: "one"}, {Title: "two"}, {Title: "three"}}}

func TestPersonApproves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Second, small, func(p *Started) { p.Approval = true })
		c, ctx := s.w.c, t.Context()
		s.refused(c.Approve(ctx, "ada", ""), "no plan yet")
		s.after(time.Hour)
		if s.w.started != 1 {
			t.Fatalf("%d agents started", s.w.started)
		}
		s.ok(c.Reject(ctx, "ada", "once more"))
		s.after(time.Hour)
		s.ok(c.Approve(ctx, "ada", "go"))
		s.refused(c.Approve(ctx, "ada", ""), "already")
		if st := s.finished(); st.Approval().By != "ada" {
			t.Errorf("approved by %+v", st.Approval())
		}
	})
}

// Spawn answers at once with a place, and a call that is made again makes no second task.
func TestSpawnAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Second, small, nil)
		c, ctx := s.w.c, t.Context()
		s.after(3 * time.Second) // the plan is approved, two workers are at work
		r := Spawn{By: Person, Title: "four", Check: "true", Ref: "r1"}
		got, err := c.Spawn(ctx, r)
		s.ok(err)
		if got != (Spawned{Task: "t5", Position: 2}) {
			t.Errorf("got %+v", got)
		}
		again, err := c.Spawn(ctx, r)
		s.ok(err)
		if again.Task != got.Task {
			t.Errorf("made again: %+v", again)
		}
		later, err := c.Spawn(ctx, Spawn{By: Person, Title: "five", Check: "true", After: []TaskID{"t5"}})
		s.ok(err)
		if later.Position != 0 || !strings.Contains(later.Waits, "1 tasks") {
			t.Errorf("got %+v", later)
		}
		_, err = c.Spawn(ctx, Spawn{By: Person, Title: "six"})
		s.refused(err, "no check")
		s.finished()
	})
}

func TestAskAndAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Second, small, nil)
		c, ctx := s.w.c, t.Context()
		s.after(3 * time.Second)
		agent := s.state().task("t2").Agent
		for range 2 {
			id, err := c.Ask(ctx, agent, "call1", "tabs or spaces?", []string{"tabs", "spaces"})
			s.ok(err)
			if id != "q1" {
				t.Errorf("asked as %s", id)
			}
		}
		s.refused(c.Answer(ctx, "ada", "q2", "x"), "no such question")
		s.ok(c.Answer(ctx, "ada", "q1", "tabs"))
		s.refused(c.Answer(ctx, "ada", "q1", "spaces"), "already")
		s.finished()
		if n := s.w.told[agent+" answer/q1"]; n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// Pause, resume, move, steer, and the signals of the model server.
func TestControls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Second, small, nil)
		c, ctx := s.w.c, t.Context()
		s.after(3 * time.Second)
		s.ok(c.Pause(ctx, "ada", "lunch"))
		s.refused(c.Pause(ctx, "ada", ""), "already")
		s.after(time.Hour)
		if st := s.state(); st.task("t4").Phase != PhaseWaiting || st.task("t2").Phase != PhaseReported {
			t.Errorf("t4 is %s, t2 %s", st.task("t4").Phase, st.task("t2").Phase)
		}
		st := s.state()
		worker := st.task("t2").Agent
		s.ok(c.Move(ctx, "ada", []string{worker}, "garden"))
		s.refused(c.Move(ctx, "ada", []string{"nobody"}, "garden"), "nobody")
		s.refused(c.Move(ctx, "ada", []string{worker}, "Garden!"), "crew")
		s.ok(c.Steer(ctx, "ada", "", "mind the roof"))
		s.refused(c.Steer(ctx, "ada", "nobody", "x"), "nobody")
		s.ok(c.SetActive(ctx, 1, "short of memory"))
		s.ok(c.SetActive(ctx, 1, "short of memory"))
		s.refused(c.SetActive(ctx, -1, ""), "-1")
		s.ok(c.Measure(ctx, 100))
		s.ok(c.Measure(ctx, 105))
		s.ok(c.Estimate(ctx, "ada", "t4", 1000, true, "easy"))
		s.ok(c.Turned(ctx, worker, 7))
		s.ok(c.Inspect(ctx, func(st *State) {
			if a, _ := st.Agent(worker); a.Turns != 7 || a.Crew != "garden" || st.Allowed() != 1 || st.Rate() != 100 {
				t.Errorf("%+v, %d, %v", a, st.Allowed(), st.Rate())
			}
		}))
		if n := len(s.log.events); n != int(s.state().Last()) {
			t.Error("the log and the state part")
		}
		s.ok(c.Resume(ctx, "ada"))
		s.refused(c.Resume(ctx, "ada"), "not paused")
		s.finished()
		if n := s.w.told[st.root().Agent+" steer/"+fmt.Sprint(st.last+2)]; n != 1 {
			t.Errorf("told %v", s.w.told)
		}
	})
}

// A task that is parked, or whose agent is killed, is not worked on any longer.
func TestParkAndKillEndWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Hour, small, nil)
		c, ctx := s.w.c, t.Context()
		s.after(3 * time.Hour)
		if s.w.working != 2 {
			t.Fatalf("%d are working", s.w.working)
		}
		s.ok(c.Park(ctx, "ada", "t2", "later"))
		s.refused(c.Park(ctx, "ada", "t2", "later"), "already")
		s.refused(c.Park(ctx, "ada", "t1", "later"), "t1")
		synctest.Wait()
		st := s.state()
		// Another worker takes its place, on the next task.
		if s.w.working != 2 || st.task("t4").Phase != PhaseLeased {
			t.Errorf("%d are working, t4 is %s", s.w.working, st.task("t4").Phase)
		}
		killed := st.task("t3").Agent
		s.ok(c.Kill(ctx, "ada", killed, "goes in circles"))
		s.refused(c.Kill(ctx, "ada", killed, ""), "no such agent")
		synctest.Wait()
		if now := s.state().task("t3"); now.Agent == killed || now.Epoch != 2 || !now.Fresh {
			t.Errorf("t3 has %s in epoch %d", now.Agent, now.Epoch)
		}
		s.ok(c.Reopen(ctx, "ada", "t2", "now"))
		s.refused(c.Reopen(ctx, "ada", "t2", "now"), "open")
		s.ok(c.End(ctx, "ada", "t4", Superseded, "t3", "the same"))
		s.refused(c.End(ctx, "ada", "t4", Dropped, "", "again"), "ended")
		s.refused(c.End(ctx, "ada", "t3", Done, "", "I say so"), "check")
		if st := s.finished(); st.task("t2").Outcome != Done || st.task("t2").Epoch != 1 {
			t.Errorf("t2: %+v", st.task("t2"))
		}
	})
}

func TestStopAndExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Hour/4, small, func(p *Started) { p.Limits.Time = time.Hour })
		if st := s.finished(); st.Finished().Finish != FinishTime || s.w.working != 0 {
			t.Fatalf("finished %+v", st.Finished())
		}
		before := s.state()
		_, err := Extend(t.Context(), s.log, time.Now(), "ada", Limits{Agents: 4})
		s.refused(err, "time is up")
		l, err := Extend(t.Context(), s.log, time.Now(), "ada", Limits{Time: 100 * time.Hour})
		s.ok(err)
		if l.Time != 101*time.Hour {
			t.Errorf("limits %+v", l)
		}
		s.run()
		for _, task := range before.Tasks() {
			if now := s.state().task(task.ID()); task.Phase == PhaseLeased && (now.Agent != task.Agent || now.Epoch != task.Epoch) {
				t.Errorf("%s had %s, has %s", task.ID(), task.Agent, now.Agent)
			}
		}
		s.ok(s.w.c.Stop(t.Context(), "ada", "enough"))
		if st := s.finished(); st.Finished().Finish != FinishStopped {
			t.Errorf("finished %+v", st.Finished())
		}
	})
}

// A World that fails is tried again, ever later; at last a person is asked, and the rest
// of the run goes on meanwhile.
func TestTroubleIsEscalated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{T: t, log: &memory{}, w: newScript(t, small), end: make(chan error, 1)}
		s.ok(Begin(t.Context(), s.log, time.Now(), Started{Spec: "a house", Check: "make test", Limits: Limits{Agents: 3}}))
		w := &failing{script: s.w, task: "t3", fails: true}
		s.w.c = New(s.log, w, time.Now, quiet)
		go func() {
			_, err := s.w.c.Run(t.Context())
			s.end <- err
		}()
		s.after(time.Hour)
		st := s.state()
		if q := st.Questions(); len(q) != 1 || q[0].Task != "t3" || !strings.Contains(q[0].Text, errBox.Error()) || w.tries != mostTries {
			t.Fatalf("%d tries, questions %+v", w.tries, q)
		}
		if st.task("t2").Outcome != Done || st.task("t4").Outcome != Done || st.Active() != 0 {
			t.Error("the others did not go on")
		}
		w.fails = false
		s.ok(s.w.c.Answer(t.Context(), "ada", "q1", "the disk was full"))
		s.finished()
	})
}

type failing struct {
	*script
	task  TaskID
	fails bool
	tries int
}

func (f *failing) Work(ctx context.Context, a Assignment) (Report, error) {
	if f.fails && a.Task == f.task {
		f.tries++
		return Report{}, errBox
	}
	return f.script.Work(ctx, a)
}

type ending struct{ *script }

func (ending) Check(context.Context, Checking) (CheckResult, error) {
	return CheckResult{}, fmt.Errorf("check: %w", ErrEnded)
}

// A team that a person ended, at its gate, ends its run.
func TestTeamIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, w := &memory{}, newScript(t, small)
		beginRun(t, log, Limits{})
		w.c = New(log, ending{w}, time.Now, quiet)
		f, err := w.c.Run(t.Context())
		if err != nil || f.Finish != FinishStopped {
			t.Errorf("finished %+v, %v", f, err)
		}
	})
}

// Row 1: a hundred agents from one goal, nobody helping; each takes a turn.
func TestHundredAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tasks []Spawn
		for i := range 250 {
			tasks = append(tasks, Spawn{Title: fmt.Sprintf("part %d", i)})
		}
		log, w := &memory{}, newScript(t, map[string][]Spawn{"the specification": tasks})
		beginRun(t, log, Limits{Agents: 100})
		if f, err := runOn(t.Context(), log, w); err != nil || f.Finish != FinishDone {
			t.Fatalf("finished %+v, %v", f, err)
		}
		s, err := Load(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		authors := map[string]bool{}
		for _, task := range s.Tasks() {
			authors[task.Author] = true
		}
		if len(authors) != 101 || w.most != 100 {
			t.Errorf("%d agents worked, %d at once", len(authors), w.most)
		}
		if slices.ContainsFunc(s.Agents(), func(a Agent) bool { return a.Role == RoleWorker && !authors[a.Agent] }) {
			t.Error("an agent did nothing")
		}
	})
}

// What cannot begin says why.
func TestBeginRefuses(t *testing.T) {
	for part, p := range map[string]Started{
		"1 to":     {Check: "x", Spec: " "},
		"not 5242": {Check: "x", Spec: strings.Repeat("x", MaxSpec+1)},
		"check":    {Spec: "x"},
		"negative": {Spec: "x", Check: "x", Limits: Limits{Agents: -1}},
		"depth 11": {Spec: "x", Check: "x", Limits: Limits{Depth: 11}},
		"mark":     {Spec: "x", Check: "x", Limits: Limits{Marks: []time.Duration{0}}},
	} {
		err := Begin(t.Context(), &memory{}, dawn, p)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
	if _, err := New(&memory{}, nil, time.Now, quiet).Run(t.Context()); !errors.Is(err, ErrRefused) {
		t.Errorf("run without a beginning: %v", err)
	}
}
