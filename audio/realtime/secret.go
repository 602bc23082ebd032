package realtime

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"dure/audio/realtime/wire"
)

// secretPrefix is how clients tell a secret from a key.
const secretPrefix = "ek_"

// mostSecrets at the same time: they are small, and this is a bound against a client that
// makes them in a loop.
const mostSecrets = 10_000

// secrets are those that were handed out and not used yet. They are kept as hashes.
type secrets struct {
	mu   sync.Mutex
	now  func() time.Time
	open map[[32]byte]secret
}

type secret struct {
	expires time.Time
	holder  string
	session wire.Session
}

func newSecrets(now func() time.Time) *secrets {
	return &secrets{now: now, open: map[[32]byte]secret{}}
}

// make hands one out; ok is false where there are too many.
func (s *secrets) make(holder string, session wire.Session, lives time.Duration) (value string, expires time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for k, old := range s.open {
		if !now.Before(old.expires) {
			delete(s.open, k)
		}
	}
	if len(s.open) >= mostSecrets {
		return "", time.Time{}, false
	}
	value, expires = secretPrefix+rand.Text(), now.Add(lives)
	s.open[sha256.Sum256([]byte(value))] = secret{expires, holder, session}
	return value, expires, true
}

// use takes a secret out: it opens one connection.
func (s *secrets) use(value string) (holder string, session wire.Session, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := sha256.Sum256([]byte(value))
	found, ok := s.open[k]
	delete(s.open, k)
	if !ok || !s.now().Before(found.expires) {
		return "", wire.Session{}, false
	}
	return found.holder, found.session, true
}
