package scripted

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"dure/inference"
)

// Options are what a Model needs beside its script.
type Options struct {
	// Wait sleeps, but for ctx; nil waits on the machine's clock.
	Wait func(ctx context.Context, d time.Duration) error
	// Saw is told of each request that a part was found for, before it is answered;
	// nil tells nobody. It may be called from several goroutines at once, and must not
	// change the request.
	Saw func(Asked, *inference.Request)
}

// Model answers from a script.
type Model struct {
	program *program
	options Options
	info    inference.Info
	places  chan struct{} // one for each answer that may be given at a time; nil: any

	mu       sync.Mutex // of all below
	waiting  int
	hold     *hold // nil: cached tokens follow from the request
	failed   map[string]int
	accounts map[string]Account
}

// New makes a model of a script.
func New(s *Script, o Options) (*Model, error) {
	p, err := compile(s)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	if o.Wait == nil {
		o.Wait = sleep
	}
	m := &Model{
		program: p, options: o, failed: map[string]int{}, accounts: map[string]Account{},
		info: inference.Info{Name: p.name, Architecture: "script", Description: "answers from a script", Context: 1 << 20, TrainContext: 1 << 20,
			Sequences: s.Sequences, Queue: s.Queue, Device: "none"},
	}
	if s.Sequences > 0 {
		m.places = make(chan struct{}, s.Sequences)
	}
	if s.Cache != nil {
		m.hold = newHold(*s.Cache)
	}
	return m, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Info implements inference.Model. Sequences and Queue of 0 are any number.
func (m *Model) Info() inference.Info { return m.info }

// Accounts returns what was told as usage, by agent.
func (m *Model) Accounts() map[string]Account {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.accounts)
}

// Generate implements inference.Model.
func (m *Model) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		if err := m.generate(ctx, req, func(e inference.Event) bool { return yield(e, nil) }); err != nil {
			yield(inference.Event{}, err)
		}
	}
}

// generate gives an answer; after tell returned false it returns nil.
func (m *Model) generate(ctx context.Context, req *inference.Request, tell func(inference.Event) bool) error {
	if req.Prompt != nil || req.Continue {
		return inference.Errorf(inference.CodeUnsupported, "a script answers conversations; it has none for a raw prompt, and continues no answer")
	}
	asked, t, err := m.program.choose(req)
	if err == nil {
		err = t.offered(req)
	}
	if err != nil {
		return err
	}
	if m.options.Saw != nil {
		m.options.Saw(asked, req)
	}
	p := render(req)
	a := answered{prompt: p, id: key(req.Caller.Agent + "\n" + p.text), turn: t}
	fault := m.fault(a.id, t.Fault)
	if err := refused(fault); err != nil {
		return err
	}
	queued, leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	a.message = t.answer(a.id)
	a.usage = inference.Usage{PromptTokens: tokens(len(p.text)), QueueMS: float64(queued.Microseconds()) / 1000}
	a.usage.CompletionTokens, a.usage.ReasoningTokens = completion(a.message)
	if most := req.Params.MaxTokens; most > 0 && a.usage.CompletionTokens > most {
		return inference.Errorf(inference.CodeInvalidRequest, "part %s of the script answers with %d tokens, max_tokens allows %d", asked.Part, a.usage.CompletionTokens, most)
	}
	a.usage.CachedTokens = m.cached(p)
	if !tell(inference.Event{Kind: inference.EventStarted, Usage: &inference.Usage{PromptTokens: a.usage.PromptTokens}}) {
		return nil
	}
	if err := m.pause(ctx, t.latency, fault); err != nil {
		return err
	}
	return m.say(ctx, req, a, fault, tell)
}

// answered is an answer on its way.
type answered struct {
	prompt  prompt
	id      string
	turn    *turn
	message inference.Message
	usage   inference.Usage
}

// say tells an answer, and counts it before its end is told: whoever heard the end
// finds it counted.
func (m *Model) say(ctx context.Context, req *inference.Request, a answered, fault *Fault, tell func(inference.Event) bool) error {
	events := pieces(a.message)
	if fault != nil && fault.Kind == Cut {
		events = events[:len(events)/2]
	}
	for _, e := range events {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !tell(e) {
			return nil
		}
	}
	if fault != nil && fault.Kind == Cut {
		return errCut
	}
	m.ended(req, a)
	done := inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: &a.usage}
	if len(a.message.ToolCalls) > 0 {
		done.Finish = inference.FinishToolCalls
	}
	if a.turn.Garbage != "" {
		done.Warnings = []inference.Warning{{Code: inference.CodeToolParse, Message: "the call is no JSON"}}
	}
	tell(done)
	return nil
}

// key names a request by who makes it and what it says.
func key(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// cached is how many tokens of a prompt need not be read. One always is.
func (m *Model) cached(p prompt) int {
	n := p.known / tokenBytes
	if m.hold != nil {
		m.mu.Lock()
		n = m.hold.find(p.text)
		m.mu.Unlock()
	}
	return min(n, tokens(len(p.text))-1)
}

func (m *Model) ended(req *inference.Request, a answered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accounts[req.Caller.Agent] = m.accounts[req.Caller.Agent].plus(a.usage)
	if m.hold != nil {
		name := cmp.Or(req.Caller.Session, req.Caller.Agent, a.id)
		m.hold.keep(name, a.prompt.text+message(a.message), a.prompt.trunk)
	}
}

// enter waits for a place among the answers that are given at a time.
func (m *Model) enter(ctx context.Context) (queued time.Duration, leave func(), err error) {
	if m.places == nil {
		return 0, func() {}, nil
	}
	leave = func() { <-m.places }
	select {
	case m.places <- struct{}{}:
		return 0, leave, nil
	default:
	}
	m.mu.Lock()
	if most := m.info.Queue; most > 0 && m.waiting >= most {
		m.mu.Unlock()
		return 0, nil, &inference.Error{Code: inference.CodeQueueFull, Message: fmt.Sprintf("%d requests wait already", most), RetryAfter: time.Second}
	}
	m.waiting++
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.waiting--
		m.mu.Unlock()
	}()
	begun := time.Now()
	select {
	case m.places <- struct{}{}:
		return time.Since(begun), leave, nil
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}
