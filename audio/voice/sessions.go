package voice

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"dure/audio/pace"
)

// Sessions are the conversations of a process: who may begin one, and who comes back.
type Sessions struct {
	// Most sessions at once; 0 is no limit of their number.
	Most int
	// Metrics of all of them; they decide whether there is room for one more.
	Metrics pace.Metrics
	// Phrases are kept for all of them.
	Phrases Phrases

	mu   sync.Mutex
	live map[string]*Session // by id
	// Compute as it was at the last two marks.
	older, mark pace.Snapshot
	markedAt    time.Time
}

// Busy says that there is no room for another session.
type Busy struct {
	Sessions   int
	P99        time.Duration
	RetryAfter time.Duration
}

func (b *Busy) Error() string {
	return fmt.Sprintf("open a voice session: there are %d, and their frames take up to %v; try again in %v", b.Sessions, b.P99, b.RetryAfter)
}

// Open begins a session, or refuses with *Busy. The session ends when ctx does; it does not
// end with a connection. Options.Metrics and Phrases are set where they are nil.
func (s *Sessions) Open(ctx context.Context, o Options) (*Session, error) {
	if o.Metrics == nil {
		o.Metrics = &s.Metrics
	}
	if o.Phrases == nil {
		o.Phrases = &s.Phrases
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p99 := s.recent()
	n := len(s.live)
	if s.Most > 0 && n >= s.Most || !pace.Admit(n, p99) {
		s.Metrics.Refused.Add(1)
		return nil, &Busy{Sessions: n, P99: p99, RetryAfter: 5 * time.Second}
	}
	session := start(ctx, secret(6), secret(24), o)
	if s.live == nil {
		s.live = map[string]*Session{}
	}
	s.live[session.id] = session
	go func() {
		<-session.ended
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.live, session.id)
	}()
	return session, nil
}

// leastMeasured is how many frames say something about a machine.
const leastMeasured = 200

// window is how far back admission looks: half of it at least, all of it at most.
const window = time.Minute

// recent is the 99th percentile of what frames took lately; 0 where too little was measured.
func (s *Sessions) recent() time.Duration {
	all, now := s.Metrics.Compute.Snapshot(), time.Now()
	if now.Sub(s.markedAt) > window/2 {
		s.older, s.mark, s.markedAt = s.mark, all, now
	}
	lately := all
	lately.Sub(s.older)
	if lately.Count < leastMeasured {
		return 0
	}
	return lately.Quantile(0.99)
}

// Resume finds the session of a token, and attaches to it behind the entry numbered last.
func (s *Sessions) Resume(token string, last int64) (*Session, *Attachment, error) {
	s.mu.Lock()
	var found *Session
	for _, x := range s.live {
		if subtle.ConstantTimeCompare([]byte(x.token), []byte(token)) == 1 {
			found = x
		}
	}
	s.mu.Unlock()
	if found == nil {
		return nil, nil, fmt.Errorf("resume a voice session: %w", ErrExpired)
	}
	a, err := found.Attach(last)
	if err != nil {
		return nil, nil, fmt.Errorf("resume a voice session: %w", err)
	}
	return found, a, nil
}

// Count is how many sessions there are.
func (s *Sessions) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// All gives the sessions that there are.
func (s *Sessions) All() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Session, 0, len(s.live))
	for _, x := range s.live {
		out = append(out, x)
	}
	return out
}

// secret is n random bytes in hexadecimal.
func secret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it does not fail
	return hex.EncodeToString(b)
}
