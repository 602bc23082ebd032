package responder

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"
)

// Lead speaks for a team at work. What it says about the team comes from the team: simple
// wishes (how is it going, how is Noether, stop) it understands and answers by itself, with
// the run's own figures; for everything else a model chooses what to do with a few tools.
// It serves one session, and implements voice.Responder and voice.Canceller.
type Lead struct {
	Team Team
	// Model is the fast loop. Nil leaves the simple wishes.
	Model *Plain
	// Patience is how long an agent may take to answer (2 minutes).
	Patience time.Duration

	mu       sync.Mutex
	pending  *stopping // the person was asked whether they mean it, and has not answered
	watching bool      // a turn is open until the team has finished
	stopped  bool      // the person ended the run from here
}

// stopping is what a person may want to stop.
type stopping struct{ task *Task } // nil is the whole run

// Respond implements voice.Responder.
func (l *Lead) Respond(ctx context.Context, r turn.Request) iter.Seq2[voice.Delta, error] {
	if r.OutOfBand && l.Model != nil {
		return l.Model.Respond(ctx, r)
	}
	return func(yield func(voice.Delta, error) bool) {
		a := &answering{l: l, ctx: ctx, r: r, language: r.Language, yield: yield}
		a.said = r.Said
		if n := len(r.History); a.said == "" && n > 0 && r.History[n-1].Role == turn.User {
			a.said = r.History[n-1].Text()
		}
		if a.language == "" && hangul(a.said) {
			a.language = "ko"
		}
		err := a.answer()
		switch {
		case a.gone || ctx.Err() != nil:
		case err != nil:
			yield(voice.Delta{}, err)
		default:
			finish := inference.FinishStop
			if a.called {
				finish = inference.FinishToolCalls
			}
			yield(voice.Delta{Done: &voice.Done{Finish: finish, Usage: a.usage}}, nil)
		}
	}
}

func hangul(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0xAC00 && r <= 0xD7A3 })
}

// ConfirmCancel implements voice.Canceller: "stop" said once makes Respond ask whether it
// is meant; said again it is the answer.
func (l *Lead) ConfirmCancel(ctx context.Context, _ string) (bool, error) {
	p := l.take()
	if p == nil {
		return false, nil
	}
	return true, l.stop(ctx, p)
}

// take gives what waits for a yes, which then waits no more.
func (l *Lead) take() *stopping {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pending
	l.pending = nil
	return p
}

func (l *Lead) arm(p *stopping) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = p
}

// stop does it.
func (l *Lead) stop(ctx context.Context, p *stopping) error {
	if p.task != nil {
		return l.Team.Park(ctx, p.task.ID, "stopped by voice")
	}
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	err := l.Team.Finish(ctx, "stopped by voice")
	if err != nil {
		l.mu.Lock()
		l.stopped = false
		l.mu.Unlock()
	}
	return err
}

// answering is one answer under way.
type answering struct {
	l        *Lead
	ctx      context.Context // of Respond's range, which ends with it
	r        turn.Request
	said     string
	language string
	yield    func(voice.Delta, error) bool
	gone     bool // nobody takes more
	called   bool // a tool of the client was called
	usage    inference.Usage
	state    State
}

func (a *answering) send(d voice.Delta) bool {
	a.gone = a.gone || !a.yield(d, nil)
	return !a.gone
}

// say has a sentence spoken. The space behind it tells that it is whole.
func (a *answering) say(text string) bool {
	return text == "" || a.send(voice.Delta{Text: strings.TrimSpace(text) + " "})
}

func (a *answering) phrase(en, ko string) string { return phrase(a.language, en, ko) }

// answer is what is said to a turn.
func (a *answering) answer() (err error) {
	if a.state, err = a.l.Team.State(a.ctx); err != nil {
		return fmt.Errorf("ask the team how it stands: %w", err)
	}
	if p := a.l.take(); p != nil {
		switch reply(a.said) {
		case yes:
			if err := a.l.stop(a.ctx, p); err != nil {
				return fmt.Errorf("stop the work: %w", err)
			}
			a.say(a.phrase("All right, I stopped it.", "네, 중단했습니다."))
			return nil
		case no:
			a.say(a.phrase("All right, the work goes on.", "네, 계속 진행합니다."))
			return nil
		}
	}
	switch what, at := understand(a.said, &a.state); what {
	case stopAll:
		a.confirm(nil)
	case stopOne:
		a.confirm(&a.state.Tasks[at])
	case howIs:
		a.ask(a.state.Agents[at])
	case nobody:
		a.say(fmt.Sprintf(a.phrase("I know no %s in the team.", "팀에 %s는 없습니다."), clip(unknownName(a.said))))
		a.say(a.state.tell(a.language))
	case progress:
		a.say(a.state.tell(a.language))
		for _, q := range a.state.Questions {
			a.say(q.tell(a.language))
		}
	default:
		return a.think()
	}
	return nil
}

// confirm asks whether a task (nil: the run) is really to be stopped.
func (a *answering) confirm(t *Task) {
	switch {
	case a.state.Phase.Over():
		a.say(a.state.tell(a.language))
		return
	case t != nil && (t.State == "done" || t.State == "failed" || t.State == "dropped" || t.State == "parked"):
		a.say(fmt.Sprintf(a.phrase("The task %s is %s already.", "%s 작업은 이미 %s 상태입니다."), t.Title, t.State))
		return
	}
	p := &stopping{}
	if t != nil {
		keep := *t
		p.task = &keep
	}
	a.l.arm(p)
	a.say(a.state.sure(t, a.language))
}

// ask says what is known of an agent, and then what it says itself.
func (a *answering) ask(who Agent) {
	if !a.say(a.state.tellAgent(who, a.language)) || a.state.Phase.Over() {
		return
	}
	text, err := a.question(who.Name, a.said)
	switch {
	case a.ctx.Err() != nil:
	case err != nil:
		a.send(voice.Delta{Screen: err.Error()})
		a.say(fmt.Sprintf(a.phrase("%s does not answer now.", "%s가 지금 대답하지 않습니다."), who.Name))
	default:
		a.say(fmt.Sprintf(a.phrase("%s says: %s", "%s의 대답입니다. %s"), who.Name, text))
	}
}

func (a *answering) question(agent, text string) (string, error) {
	patience := a.l.Patience
	if patience == 0 {
		patience = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(a.ctx, patience, fmt.Errorf("%s took more than %v", agent, patience))
	defer cancel()
	answer, err := a.l.Team.Ask(ctx, agent, text)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return answer, err
}

// watch keeps the turn open while the team works, and tells what really changed. One turn
// does that; work given while it does needs no other.
func (a *answering) watch() error {
	a.l.mu.Lock()
	busy := a.l.watching
	a.l.watching = true
	a.l.mu.Unlock()
	if busy {
		return nil
	}
	defer func() {
		a.l.mu.Lock()
		defer a.l.mu.Unlock()
		a.l.watching = false
	}()
	for _, err := range a.l.Team.Changes(a.ctx) {
		if err != nil {
			return err
		}
		now, err := a.l.Team.State(a.ctx)
		if err != nil {
			return err
		}
		if now.Phase.Over() {
			a.state = now
			break
		}
		p := changed(&a.state, &now, a.language)
		a.state = now
		if p != nil && !a.send(voice.Delta{Progress: p}) {
			return nil
		}
	}
	now, err := a.l.Team.State(a.ctx)
	if err != nil || a.ctx.Err() != nil {
		return err
	}
	a.l.mu.Lock()
	mine := a.l.stopped
	a.l.mu.Unlock()
	if !mine { // who stopped it knows
		a.say(now.tell(a.language))
	}
	return nil
}
