package responder

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"
)

// team is one that does what it is told to.
type team struct {
	state   State
	changes chan State
	did     []string
	err     error
}

func (t *team) State(context.Context) (State, error) { return t.state, t.err }
func (t *team) Ask(ctx context.Context, agent, question string) (string, error) {
	t.did = append(t.did, "ask "+agent)
	if agent == "noether" {
		<-ctx.Done() // asleep
		return "", ctx.Err()
	}
	return "I am at it.", nil
}
func (t *team) Tell(_ context.Context, agent, text string) error {
	t.did = append(t.did, "tell "+agent+": "+text)
	return nil
}
func (t *team) Approve(context.Context) error { t.did = append(t.did, "approve"); return nil }
func (t *team) Answer(_ context.Context, q, text string) error {
	t.did = append(t.did, "answer "+q+": "+text)
	return nil
}
func (t *team) Park(_ context.Context, task, _ string) error {
	t.did = append(t.did, "park "+task)
	return nil
}
func (t *team) Finish(context.Context, string) error { t.did = append(t.did, "finish"); return nil }
func (t *team) Changes(ctx context.Context) iter.Seq2[struct{}, error] {
	return func(yield func(struct{}, error) bool) {
		for {
			select {
			case s, ok := <-t.changes:
				if !ok {
					return
				}
				t.state = s
				if !yield(struct{}{}, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func three() State {
	return State{Name: "run", Spec: "Three", Phase: Running,
		Tasks:  []Task{{"t2", "parser", "poincare", "at work"}, {"t3", "printer", "", "waiting"}, {"t4", "scanner", "euler", "done"}},
		Agents: []Agent{{"noether", "lead", "t1"}, {"poincare", "worker", "t2"}, {"euler", "worker", ""}}}
}

// hear gives what is said to words, and whether something of it is marked.
func hear(t *testing.T, l *Lead, words string) (text string, all []voice.Delta) {
	t.Helper()
	for d, err := range l.Respond(t.Context(), turn.Request{Said: words, History: []turn.Item{said(turn.User, words)}}) {
		if err != nil {
			t.Fatal(err)
		}
		text += d.Text
		all = append(all, d)
	}
	if n := len(all); n == 0 || all[n-1].Done == nil {
		t.Errorf("%q: no end: %+v", words, all)
	}
	return strings.TrimSpace(text), all
}

// The simple wishes, in the words of people and of recognisers.
func TestLeadUnderstands(t *testing.T) {
	for words, want := range map[string]string{
		"How is it going?":              "So far 1 of 3 tasks done, 1 at work.",
		"What's the status":             "So far 1 of 3 tasks done, 1 at work.",
		"지금 어떻게 되고 있어?":                 "작업 3개 중 1개가 완료됐고, 1개를 진행하고 있습니다.",
		"How is Poincaré doing?":        "poincare has the task parser, which is at work. poincare says: I am at it.",
		"how is point carry doing":      "poincare has the task parser, which is at work. poincare says: I am at it.",
		"Poincaré 어떻게 하고 있어?":           "poincare는 parser 작업을 맡고 있습니다. poincare의 대답입니다. I am at it.",
		"푸앵카레는 어떻게 하고 있어?":              "poincare는 parser 작업을 맡고 있습니다. poincare의 대답입니다. I am at it.",
		"What is yuler working on now?": "euler has no task now. euler says: I am at it.",
		"Stop the parser.":              "Shall I really stop the task parser? Say yes or no.",
		"stop scanner please":           "The task scanner is done already.",
		"Stop.":                         "1 of 3 tasks done. Shall I really stop the whole run? Say yes or no.",
		"전부 취소해줘":                       "작업 3개 중 1개가 완료됐습니다. 정말 전부 멈출까요?",
		"Tell me a joke":                "I can tell you how it is going, ask an agent, or stop the work.",
		"How is Gauss doing?":           "I know no gauss in the team. So far 1 of 3 tasks done, 1 at work.",
		"how is the team doing":         "So far 1 of 3 tasks done, 1 at work.",
	} {
		if got, _ := hear(t, &Lead{Team: &team{state: three()}}, words); got != want {
			t.Errorf("%q: %q, not %q", words, got, want)
		}
	}
}

// Names are found as recognisers write them, and no others.
func TestNamed(t *testing.T) {
	names := []string{"noether", "poincare", "euler", "gauss", "hilbert", "ramanujan", "hypatia", "lovelace"}
	for words, want := range map[string]string{
		"ask noeter about it": "noether", "ask nurture": "", "what about neuter": "noether", "how is Poincaré": "poincare", "how is point carry": "poincare",
		"how is ponkare": "poincare", "푸앵카레 어때": "poincare", "뇌터는": "noether", "and gaus": "gauss", "gows": "", "hillbert": "hilbert", "Ramanujan's task": "ramanujan",
		"rama new john": "ramanujan", "love lace": "lovelace", "hypatia and euler": "", "how far are you": "", "the weather is nice": "", "": "",
	} {
		got := ""
		if at := named(names, words); at >= 0 {
			got = names[at]
		}
		if got != want {
			t.Errorf("%q: %q, not %q", words, got, want)
		}
	}
}

// Nothing stops before a yes; a no, or something else, and it goes on.
func TestLeadStops(t *testing.T) {
	for _, c := range []struct {
		say  []string
		want string
	}{
		{[]string{"stop", "yes"}, "finish"}, {[]string{"stop", "no"}, ""}, {[]string{"stop", "no", "yes"}, ""}, {[]string{"stop", "how is it going", "yes"}, ""},
		{[]string{"stop the parser", "yes please"}, "park t2"}, {[]string{"yes"}, ""}, {[]string{"stop", "stop"}, "finish"}, {[]string{"stop", "yes, but not now"}, ""},
		{[]string{"멈춰", "네"}, "finish"}, {[]string{"멈춰", "아니"}, ""},
	} {
		f := &team{state: three()}
		l := &Lead{Team: f}
		for _, words := range c.say {
			hear(t, l, words)
		}
		if got := strings.Join(f.did, ","); got != c.want {
			t.Errorf("%q: did %q, not %q", c.say, got, c.want)
		}
	}
	f := &team{state: three()}
	l := &Lead{Team: f}
	if ok, err := l.ConfirmCancel(t.Context(), "stop"); ok || err != nil {
		t.Error("cancelled without a question")
	}
	hear(t, l, "stop")
	if ok, err := l.ConfirmCancel(t.Context(), "stop"); !ok || err != nil || !slices.Equal(f.did, []string{"finish"}) {
		t.Error(ok, err, f.did)
	}
}

// chooser is a model that calls a tool first, and then says a text.
type chooser struct{ tool, args, text string }

func (c chooser) Info() inference.Info { return inference.Info{} }
func (c chooser) Generate(_ context.Context, r *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		if c.tool != "" && r.Messages[len(r.Messages)-1].Role != inference.RoleTool {
			yield(inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{ID: "c", Name: c.tool, Arguments: c.args}}, nil)
			return
		}
		yield(inference.Event{Kind: inference.EventText, Text: c.text}, nil)
	}
}

func (c chooser) plain() *Plain {
	return &Plain{Open: func(context.Context, string) (inference.Model, func(), error) { return c, func() {}, nil }}
}

// What a model says is spoken if the facts have its figures; without facts it is marked.
func TestLeadFacts(t *testing.T) {
	for _, c := range []struct {
		model chooser
		want  string
		mark  bool
	}{
		{chooser{"status", "{}", "One of the three tasks is done."}, "One of the three tasks is done.", false},
		{chooser{"status", "{}", "Five of six tasks are done."}, "So far 1 of 3 tasks done, 1 at work.", false},
		{chooser{"", "", "All is well."}, "All is well.", true},
		{chooser{"", "", "What do you mean?"}, "What do you mean?", false},
		{chooser{"", "", "It is 90 percent done."}, "So far 1 of 3 tasks done, 1 at work.", false},
		{chooser{"ask", `{"agent":"Poincaré","question":"x"}`, "It is at it."}, "It is at it.", false},
		{chooser{"ask", `{"agent":"gauss"}`, "I do not know Gauss."}, "I do not know Gauss.", true},
		{chooser{"ask", `{"agent":7}`, "Hm."}, "Hm.", true},
		{chooser{"fly", `{}`, "I cannot."}, "I cannot.", true},
		{chooser{"stop", `{"task":"parser"}`, "Stopped."}, "Shall I really stop the task parser? Say yes or no.", false},
		{chooser{"answer_question", `{"question":"q1","text":"blue"}`, "Told them."}, "Told them.", false},
	} {
		f := &team{state: three()}
		got, all := hear(t, &Lead{Team: f, Model: c.model.plain()}, "Well then")
		mark := slices.ContainsFunc(all, func(d voice.Delta) bool { return d.Unverified })
		if got != c.want || mark != c.mark {
			t.Errorf("%+v: %q, marked %t", c.model, got, mark)
		}
		if slices.Contains(f.did, "finish") {
			t.Errorf("%+v stopped the run", c.model)
		}
	}
}

// Work that was given keeps its turn open: what changes is told, each once, and the end.
func TestLeadFollows(t *testing.T) {
	f := &team{state: three(), changes: make(chan State, 9)}
	same, more, asks, over := three(), three(), three(), three()
	more.Tasks[0].State = "done"
	asks.Tasks[0].State, asks.Questions = "done", []Question{{"q1", "euler", "Which colour?"}}
	over.Phase = Done
	for i := range over.Tasks {
		over.Tasks[i].State = "done"
	}
	for _, s := range []State{same, more, more, asks, over} {
		f.changes <- s
	}
	close(f.changes)
	got, all := hear(t, &Lead{Team: f, Model: chooser{"give_work", `{"text":"dance","agent":"yuler"}`, "I told euler."}.plain()}, "Have them dance")
	var told []string
	for _, d := range all {
		if d.Progress != nil {
			told = append(told, d.Progress.Key+" "+d.Progress.Text)
		}
	}
	if want := []string{"done/2/3 So far 2 of 3 tasks done, 0 at work.", "question/q1 euler asks: Which colour?"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
	if got != "I told euler. The team has finished: 3 of 3 tasks done, and the check passes." || !slices.Equal(f.did, []string{"tell euler: dance"}) {
		t.Errorf("%q, %q", got, f.did)
	}
}

// An agent that does not answer is not waited for for ever; a team that is gone is an error.
func TestLeadPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got, _ := hear(t, &Lead{Team: &team{state: three()}}, "How is noether doing?")
		if got != "noether leads the team. noether does not answer now." || time.Since(began) != 2*time.Minute {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
	gone := errors.New("gone")
	for _, err := range (&Lead{Team: &team{err: gone}}).Respond(t.Context(), turn.Request{Said: "hello"}) {
		if !errors.Is(err, gone) {
			t.Error(err)
		}
	}
}

func FuzzUnderstand(f *testing.F) {
	f.Add("How is Poincaré doing?")
	f.Add("푸앵카레 멈춰")
	f.Add("stop the parser \xff\u0301")
	s := three()
	f.Fuzz(func(t *testing.T, words string) {
		if len(words) > 2000 {
			return
		}
		what, at := understand(words, &s)
		if what == howIs && (at < 0 || at >= len(s.Agents)) || what == stopOne && (at < 0 || at >= len(s.Tasks)) {
			t.Error(what, at)
		}
		reply(words)
	})
}
