package swarm

import (
	"strings"
	"testing"
	"time"
)

// checked has main checked, as the coordinator takes it.
func (b *table) checked(p Mainline) {
	b.t.Helper()
	co := New(nil, nil, func() time.Time { return b.now }, quiet)
	errs := aside(func() error { return co.Checked(b.t.Context(), p) })
	l := &loop{c: co, s: b.s, works: map[Key]*work{}}
	(<-co.inbox)(l)
	b.log = append(b.log, l.pending...)
	for _, answer := range l.after {
		answer(nil)
	}
	if err := <-errs; err != nil {
		b.t.Fatal(err)
	}
}

// A landing that breaks main gets one task that mends it, with the command as its check;
// a process that finds it again makes no second one.
func TestMainIsMended(t *testing.T) {
	b := approved(t, func(p *Started) { p.Keep = "make vet" }, step("one"))
	b.checked(Mainline{Green: "m1"})
	b.begins()
	b.checked(Mainline{Green: "m2", Broken: "m3", By: Side{Agent: "gauss", Task: "t2"}, Output: ClipOutput("x.go:3: wrong")})
	b.begins("work t3/1")
	mend := b.task("t3")
	if mend.Submitted.Check != "make vet" || mend.Mends != "m3" || !strings.Contains(mend.Text, "gauss's landing for t2") || !strings.Contains(mend.Text, "x.go:3") {
		t.Errorf("%+v", mend.Submitted)
	}
	n := len(b.log)
	b.checked(Mainline{Broken: "m3"})
	b.begins()
	if g := b.s.Green(); len(b.log) != n || g.Commit != "m2" || g.Broken != "m3" || g.Task != "t3" {
		t.Errorf("%+v", b.s.Green())
	}
	b.finish("t3")
	b.checked(Mainline{Green: "m4", Mended: true})
	b.checked(Mainline{Flaky: "m5"})
	if g := b.s.Green(); g.Commit != "m4" || g.Broken != "" || g.Flaky != 1 || g.Task != "" {
		t.Errorf("%+v", g)
	}
	b.checked(Mainline{Broken: "m6"})
	b.begins("work t4/1")
}

// A run that keeps nothing passing takes no word of main's checks.
func TestNothingIsKept(t *testing.T) {
	b := approved(t, nil, step("one"))
	if err := b.try(Mainline{Green: "m1"}); err == nil || b.s.Green() != nil {
		t.Errorf("%+v %v", b.s.Green(), err)
	}
}
