package voice

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"dure/audio"
	"dure/audio/pace"
	"dure/audio/turn"
)

// Options are what a session is made of. STT, TTS and Responder serve many sessions; VAD
// is the session's own and is closed with it.
type Options struct {
	Config    turn.Config
	Rules     turn.Rules // the zero value is turn.DefaultRules
	VAD       VAD
	STT       STT
	TTS       TTS
	Responder Responder
	// Frames is a speech model that listens and speaks by itself, or nil. It is the
	// session's own and closed with it; the session is a duplex one then.
	Frames FrameEngine
	// Metrics are shared by all sessions; nil keeps none.
	Metrics *pace.Metrics
	// Relieve is called when frames are late three times in a row: others are to
	// compute less. It returns at once. May be nil.
	Relieve func()
	// Keep is how long the session waits for a client that is gone; 0 is 32 s, which is
	// also the most.
	Keep time.Duration
	// Phrases keeps the sound of fixed phrases for all sessions; nil keeps none.
	Phrases *Phrases
	Log     *slog.Logger
}

// keep is how long the session waits for its client.
func (w *owner) keep() time.Duration {
	if w.o.Keep > 0 {
		return min(w.o.Keep, keepFor)
	}
	return keepFor
}

// inboxSize bounds what a client may have told and the owner has not read.
const inboxSize = 64

// Session is a conversation. Its methods may be called by any goroutine.
type Session struct {
	id, token string
	inbox     chan request
	reports   chan func(*owner)
	journal   *journal
	ended     chan struct{}
	clips     atomic.Int64
	began     time.Time
	final     audio.Ledger // set before ended is closed
}

// request is what a client told.
type request struct {
	ev    turn.Event
	audio []byte
	clip  bool // audio is that of a created item
}

func start(ctx context.Context, id, token string, o Options) *Session {
	s := &Session{id: id, token: token, inbox: make(chan request, inboxSize), reports: make(chan func(*owner), inboxSize),
		ended: make(chan struct{}), began: time.Now()}
	s.journal = newJournal(func() time.Duration { return time.Since(s.began) })
	ow := newOwner(ctx, s, o)
	go ow.run()
	return s
}

// ID names the session; Token is the secret with which a client comes back to it.
func (s *Session) ID() string { return s.id }

// Token is to be told to the client only.
func (s *Session) Token() string { return s.token }

// Ended is closed when the session is over.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Final is the ledger of a session that has ended: all that was ever counted. It waits for
// the end.
func (s *Session) Final() audio.Ledger {
	<-s.ended
	return s.final
}

// Append takes sound of the person, in the session's input format and in any size. It keeps
// b. What is wrong with the sound is told as turn.Failed.
func (s *Session) Append(ctx context.Context, eventID string, b []byte) error {
	return s.send(ctx, request{ev: turn.Append{ID: eventID}, audio: b})
}

// Do tells an event of a client: one of those in the first group of package turn. It waits
// for room in the inbox.
func (s *Session) Do(ctx context.Context, ev turn.Event) error {
	return s.send(ctx, request{ev: ev})
}

// CreateItemAudio is Do for an item whose part of kind turn.InputAudio has the sound b, in
// the session's input format. It keeps b.
func (s *Session) CreateItemAudio(ctx context.Context, e turn.CreateItem, b []byte) error {
	return s.send(ctx, request{ev: e, audio: b, clip: true})
}

func (s *Session) send(ctx context.Context, r request) error {
	select {
	case <-s.ended:
		return ErrClosed
	default:
	}
	select {
	case s.inbox <- r:
		return nil
	case <-s.ended:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Attach begins to read what the session tells, behind the entry numbered last (0: from the
// beginning). A connection that was attached is replaced.
func (s *Session) Attach(last int64) (*Attachment, error) {
	a, err := s.journal.attach(last, func(*Attachment) { s.report(func(o *owner) { o.detached() }) })
	if err != nil {
		return nil, err
	}
	s.report(func(o *owner) { o.attached() })
	return a, nil
}

// report hands the owner something to do; it is lost when the session is over.
func (s *Session) report(f func(*owner)) {
	select {
	case s.reports <- f:
	case <-s.ended:
	}
}

// try is report where losing it does no harm.
func (s *Session) try(f func(*owner)) {
	select {
	case s.reports <- f:
	default:
	}
}

// Status is a session seen from outside.
type Status struct {
	ID       string
	Phase    turn.Phase
	Epoch    int64
	Attached bool
	Ledger   audio.Ledger
	Items    int
	Age      time.Duration
}

// Status asks the owner. It is ErrClosed when the session is over.
func (s *Session) Status(ctx context.Context) (Status, error) {
	got := make(chan Status, 1)
	select {
	case s.reports <- func(o *owner) { got <- o.status() }:
	case <-s.ended:
		return Status{}, ErrClosed
	case <-ctx.Done():
		return Status{}, ctx.Err()
	}
	select {
	case st := <-got:
		return st, nil
	case <-s.ended:
		return Status{}, ErrClosed
	case <-ctx.Done():
		return Status{}, ctx.Err()
	}
}
