package llm

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/engine"
	"dure/inference/sample"
	"dure/inference/sched"
)

var errStopped = inference.Errorf(inference.CodeShuttingDown, "the model is being unloaded")

// Generate implements inference.Model.
func (l *LLM) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		s := &stream{l: l, yield: yield}
		r, err := s.begin(ctx, req)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		if !s.run(ctx) {
			l.cancel(r)
		}
	}
}

// prepare renders, tokenises and checks a request.
func (l *LLM) prepare(ctx context.Context, req *inference.Request) (*request, error) {
	sampler, err := sample.New(req.Params)
	if err != nil {
		return nil, err
	}
	prompt, err := l.tokens(ctx, req.Messages)
	if err != nil {
		return nil, err
	}
	if len(prompt) >= l.info.Context {
		return nil, l.tooLong(req.Messages, fmt.Sprint(len(prompt)), len(prompt))
	}
	maxTokens := l.info.Context - len(prompt)
	if m := req.Params.MaxTokens; m > 0 {
		maxTokens = min(maxTokens, m)
	}
	return &request{
		id: sched.ID(l.lastID.Add(1)), name: req.ID, prompt: prompt,
		maxTokens: maxTokens, ignoreEOS: req.Params.IgnoreEOS,
		sampler: sampler, outbox: make(chan item, outboxTokens), submitted: time.Now(),
	}, nil
}

// tokens of the rendered conversation.
func (l *LLM) tokens(ctx context.Context, messages []inference.Message) ([]engine.Token, error) {
	if len(messages) == 0 {
		return nil, &inference.Error{Code: inference.CodeInvalidRequest, Param: "messages", Message: "messages is empty; send at least one message"}
	}
	text, err := l.template.Render(messages, chat.RenderOptions{
		AddGenerationPrompt: true, BOS: l.bos, EOS: l.eos, Now: time.Now(),
	})
	if err != nil {
		return nil, err
	}
	// The template writes BOS itself where the model wants one; only when it
	// did not does the tokeniser add it.
	addBOS := l.model.Facts().AddBOS && !strings.HasPrefix(text, l.bos)
	// What is far too long is refused by its bytes: counting its tokens takes
	// seconds.
	if least := l.model.MinTokens(len(text)); least >= l.info.Context {
		return nil, l.tooLong(messages, fmt.Sprintf("at least %d", least), least)
	}
	tokens, err := l.model.Tokenize(ctx, text, addBOS, true)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, inference.Errorf(inference.CodeInternal, "tokenise: %v", err)
	}
	if len(tokens) == 0 {
		return nil, &inference.Error{Code: inference.CodeInvalidRequest, Param: "messages", Message: "the messages render to an empty prompt"}
	}
	return tokens, nil
}

// tooLong says what does not fit and which message is the largest, since that
// is the one to shorten. Nothing is ever cut.
func (l *LLM) tooLong(messages []inference.Message, count string, prompt int) error {
	largest, total := 0, 0
	for i, m := range messages {
		total += len(m.Content)
		if len(m.Content) > len(messages[largest].Content) {
			largest = i
		}
	}
	share := 100 * len(messages[largest].Content) / max(total, 1)
	err := inference.Errorf(inference.CodeContextExceeded,
		"the prompt has %s tokens, the context holds %d and the answer needs at least one; the largest message is messages[%d] (%s) with %d%% of the text",
		count, l.info.Context, largest, messages[largest].Role, share)
	err.Param, err.PromptTokens, err.ContextTokens = "messages", prompt, l.info.Context
	return err
}

// submit puts the request into the inbox and waits for its admission.
func (l *LLM) submit(ctx context.Context, r *request) error {
	select {
	case l.inbox <- command{submit: r}:
	case <-l.done:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	it, ok := l.receive(ctx, r)
	switch {
	case !ok && ctx.Err() != nil:
		l.cancel(r)
		return ctx.Err()
	case !ok:
		return errStopped
	case it.kind == itemError:
		return it.err
	}
	return nil
}

// receive takes the next item from the outbox; false when there is none to
// come or ctx ended.
func (l *LLM) receive(ctx context.Context, r *request) (item, bool) {
	select {
	case it, ok := <-r.outbox:
		if r.stalled.Load() && len(r.outbox) < cap(r.outbox)/2 && r.stalled.CompareAndSwap(true, false) {
			select {
			case l.wake <- struct{}{}:
			default: // a wake is already on its way
			}
		}
		return it, ok
	case <-ctx.Done():
		return item{}, false
	case <-l.done:
		select { // what the owner left before it ended
		case it, ok := <-r.outbox:
			return it, ok
		default:
			return item{}, false
		}
	}
}

// cancel tells the owner to forget a request.
func (l *LLM) cancel(r *request) {
	r.cancelStep.Store(l.stats.steps.Load())
	select {
	case l.inbox <- command{cancel: r}:
	case <-l.done:
	}
}

// stream turns one request's items into events.
type stream struct {
	l         *LLM
	r         *request
	text      *chat.Stream
	yield     func(inference.Event, error) bool
	piece     []byte
	completed int // tokens that went into the answer
}

// begin checks the request and gets it admitted.
func (s *stream) begin(ctx context.Context, req *inference.Request) (*request, error) {
	text, err := chat.NewStream(req.Params.Stop)
	if err != nil {
		return nil, err
	}
	r, err := s.l.prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	s.text, s.r = text, r
	return r, s.l.submit(ctx, r)
}

// run yields events until the end. It reports false when the owner still holds
// the request, because the reader went away or a stop string ended it early.
func (s *stream) run(ctx context.Context) (ended bool) {
	usage := inference.Usage{PromptTokens: len(s.r.prompt)}
	if !s.yield(inference.Event{Kind: inference.EventStarted, Usage: &usage}, nil) {
		return false
	}
	for {
		it, ok := s.l.receive(ctx, s.r)
		if !ok {
			return s.broken(ctx)
		}
		switch it.kind {
		case itemToken:
			text, stopped := s.push(it.token)
			if text != "" && !s.yield(inference.Event{Kind: inference.EventText, Text: text}, nil) {
				return false
			}
			if stopped {
				s.done(inference.FinishStop, s.r.times(time.Now()))
				return false
			}
		case itemFinish:
			if text := s.text.Flush(); text != "" && !s.yield(inference.Event{Kind: inference.EventText, Text: text}, nil) {
				return true
			}
			s.done(it.finish, it.times)
			return true
		case itemError:
			s.yield(inference.Event{}, it.err)
			return true
		}
	}
}

func (s *stream) push(t engine.Token) (string, bool) {
	s.completed++
	s.piece = s.l.model.AppendPiece(s.piece[:0], t, false)
	return s.text.Push(s.piece)
}

// broken ends a stream whose outbox gave no last item.
func (s *stream) broken(ctx context.Context) bool {
	if ctx.Err() != nil {
		s.yield(inference.Event{}, ctx.Err())
		return false
	}
	s.yield(inference.Event{}, errStopped)
	return true
}

func (s *stream) done(finish inference.FinishReason, t times) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	s.yield(inference.Event{Kind: inference.EventDone, Finish: finish, Usage: &inference.Usage{
		PromptTokens: len(s.r.prompt), CompletionTokens: s.completed,
		QueueMS: ms(t.queue), PrefillMS: ms(t.prefill), DecodeMS: ms(t.decode),
	}}, nil)
}
