package llm

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/engine"
	"dure/inference/sched"
	"dure/inference/spec"
	"dure/kvcache"
	"dure/kvcache/codec"
)

// LLM is one loaded model. It is safe for concurrent use.
type LLM struct {
	cfg        Config
	log        *slog.Logger
	model      *engine.Model
	vocabulary *engine.Vocabulary
	fence      *fence
	template   *chat.Template
	speech     speech
	grammars   grammars
	bos, eos   string
	info       inference.Info
	memory     []Memory

	chatWarning string
	large       chan struct{} // held while a large text is tokenised

	// inbox is the owner's only entrance: submits and cancels. wake tells it
	// that a blocked reader has caught up. done is closed when it has ended.
	inbox    chan command
	wake     chan struct{}
	stop     chan struct{}
	done     chan struct{}
	stopping atomic.Bool
	lastID   atomic.Uint64
	stats    counters
	reentry  reentry
}

// New makes the context for a loaded model and starts its owner. The model
// stays the caller's to close, after Close. cfg must be complete (Derive).
func New(model *engine.Model, cfg Config, log *slog.Logger) (*LLM, error) {
	f, warning := model.Facts(), ""
	source := f.ChatTemplate
	template, err := chat.Compile(source)
	if errors.Is(err, chat.ErrNoTemplate) {
		warning = noTemplate
		log.Warn(noTemplate, "model", cfg.Name)
		source = chat.ChatML
		template, err = chat.Compile(source)
	}
	if err != nil {
		return nil, fmt.Errorf("chat template of %s: %w", cfg.Name, err)
	}
	l := &LLM{
		cfg: cfg, log: log, model: model, template: template,
		bos: special(model, f.BOS), eos: special(model, f.EOS),
		vocabulary: model.Vocabulary(), fence: newFence(model.Vocabulary().Controls()), chatWarning: warning, large: make(chan struct{}, 1),
		inbox: make(chan command, 64), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	l.learnSpeech(source)
	l.stats.threads.Store(int64(cfg.Threads))
	started := make(chan error, 1)
	go l.own(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return l, nil
}

const noTemplate = "the model's file has no chat template, ChatML is used instead"

// special is the text of a special token, "" for none (-1).
func special(m *engine.Model, t engine.Token) string {
	if t < 0 {
		return ""
	}
	return m.Vocabulary().Piece(t, true)
}

func (l *LLM) describe(context int) inference.Info {
	f := l.model.Facts()
	return inference.Info{
		Name: l.cfg.Name, Architecture: f.Architecture, Description: f.Description,
		Context: context, TrainContext: f.TrainContext,
		Sequences: l.cfg.Sequences, Queue: l.cfg.Queue,
		Vocabulary: f.Vocabulary, Parameters: f.Parameters, Bytes: f.Bytes, Device: l.cfg.Device,
		ChatWarning: l.chatWarning,
	}
}

// Info describes the model as loaded.
func (l *LLM) Info() inference.Info { return l.info }

// Close ends all requests with ErrShuttingDown and frees the context. It
// returns when the owner has ended.
func (l *LLM) Close() error {
	if l.stopping.CompareAndSwap(false, true) {
		close(l.stop)
	}
	<-l.done
	return nil
}

// command is what callers put into the inbox.
type command struct {
	submit *request // or
	cancel *request // or
	look   *look
	// stopped says that the answer is whole: its reader found a stop string.
	stopped bool
}

// request is one Generate call. Fields above the line are set by the caller
// before it is submitted and read-only after; those below belong to the owner,
// but for the atomics.
type request struct {
	id        sched.ID
	name      string // inference.Request.ID
	prompt    []engine.Token
	caller    caller
	maxTokens int // completion tokens, at least 1
	ignoreEOS bool
	// topLogprobs is how many alternatives go with each token; -1 asks for no
	// logprobs at all.
	topLogprobs int
	warnings    []inference.Warning // that the last event carries
	sampler     sampler
	guide       *guide // nil where the answer may be anything
	submitted   time.Time
	index       *spec.Index // of the prompt; nil without speculative decoding
	// outbox is closed by the owner after the last item.
	outbox chan item
	// ------
	all       []engine.Token // prompt and what was drawn
	read      int            // of those in the cache
	promised  int            // length up to which it has cells
	lease     kvcache.LeaseID
	slot      int
	held      []drawn   // not handed over yet
	delivered time.Time // when the reader was last given some
	blocked   bool      // not scheduled until its reader catches up
	placed    time.Time // first had a sequence
	restored  time.Time // the sequence first held what is reused
	first     time.Time // first token sampled
	reused    kvcache.Match
	loss      codec.Class  // of what is reused, the worst
	stream    *spec.Stream // nil without speculative decoding

	stalled    atomic.Bool   // outbox was full: the reader wakes the owner
	cancelStep atomic.Uint64 // step count when the cancel was sent
}

// generated is how many tokens were drawn.
func (r *request) generated() int { return len(r.all) - len(r.prompt) }

// sampler is what llm needs of package sample.
type sampler interface {
	Sample(logits []float32) (int32, error)
	Accept(token int32)
	Logprobs(logits []float32, token int32, top int) (inference.TokenLogprob, error)
}

// item goes through an outbox: first the admission, then tokens, at the end
// either a finish or an error, which may come with the last tokens.
type item struct {
	kind   itemKind
	tokens []drawn
	finish inference.FinishReason
	err    error
	report report
}

type itemKind uint8

const (
	itemAdmitted itemKind = iota
	itemTokens
	itemFinish
	itemError
)

// report is what the owner knows of a request when it ends.
type report struct {
	queue, restore, prefill, decode time.Duration
	reused                          kvcache.Match
	loss                            codec.Class
	drafted, accepted               int
}
