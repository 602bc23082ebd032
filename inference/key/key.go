package key

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"dure/inference"
)

// MaxKeys is how many keys a file may hold: every request is compared with each.
const MaxKeys = 1000

// maxModels is how many patterns a key may have, maxPattern the bytes of one.
const (
	maxModels  = 100
	maxPattern = 256
)

// Key is what the file says of one key. The zero Key stands for whoever needs no
// key or has one without a name (Options.Unnamed): it may do everything.
type Key struct {
	Name    string    `json:"name"`
	Hash    Hash      `json:"sha256"` // of the whole key, "dure-" included
	Created time.Time `json:"created"`
	// Expires is when the key ends to work; zero is never.
	Expires  time.Time `json:"expires,omitzero"`
	Disabled bool      `json:"disabled,omitempty"`
	// Admin lets it load, unload, pull and remove models, pause the server and
	// stop the agents of others.
	Admin bool `json:"admin,omitempty"`
	// Models are the names that it may use: "*" in one stands for any characters,
	// also none, "?" for one. None listed is all models.
	Models []string `json:"models,omitempty"`
	// Priority is the highest that its requests may have; empty is any.
	Priority inference.Priority `json:"priority,omitempty"`
	Limits
}

// Limits of a key; 0 is no limit.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute,omitempty"`
	RequestsPerDay    int64 `json:"requests_per_day,omitempty"`
	TokensPerMinute   int64 `json:"tokens_per_minute,omitempty"`
	TokensPerDay      int64 `json:"tokens_per_day,omitempty"`
	// Concurrency is how many of its requests may wait or be answered at once.
	Concurrency int64 `json:"concurrency,omitempty"`
}

// Hash is a SHA-256; as text, hexadecimal.
type Hash [sha256.Size]byte

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return errors.New("want the SHA-256 of a key, 64 hexadecimal digits")
	}
	copy(h[:], b)
	return nil
}

// prefix makes a key that lies about somewhere tell whose it is.
const prefix = "dure-"

// New makes a key: the secret, which is nowhere else from now on, and its hash.
func New() (secret string, hash Hash) {
	var b [32]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	secret = prefix + base64.RawURLEncoding.EncodeToString(b[:])
	return secret, sha256.Sum256([]byte(secret))
}

// ID tells the key from another one of its name, before or after it.
func (k Key) ID() string { return hex.EncodeToString(k.Hash[:6]) }

// State says whether the key works at a time: "active", "disabled" or "expired".
func (k Key) State(now time.Time) string {
	switch {
	case k.Disabled:
		return "disabled"
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return "expired"
	}
	return "active"
}

// Allows reports whether the key may use a model, by its name in the catalogue.
func (k Key) Allows(model string) bool {
	return len(k.Models) == 0 || slices.ContainsFunc(k.Models, func(p string) bool { return matches(p, model) })
}

// priorities from the least urgent up.
var priorities = []inference.Priority{
	inference.PriorityBackground, inference.PriorityWorker, inference.PriorityMerge, inference.PriorityPlanner, inference.PriorityInteractive,
}

// grant is the priority that a request gets; ok is false for one above the cap.
// One that names none gets the cap, since it would be interactive otherwise.
func (k Key) grant(asked inference.Priority) (granted inference.Priority, ok bool) {
	switch {
	case k.Priority == "":
		return asked, true
	case asked == "":
		return k.Priority, true
	}
	return asked, slices.Index(priorities, asked) <= slices.Index(priorities, k.Priority)
}

var nameRE = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._@-]{0,63}$`)

// Validate says what is wrong with a key.
func (k Key) Validate() error {
	if !nameRE.MatchString(k.Name) {
		return fmt.Errorf("name %q: want 1 to 64 letters, digits and . _ @ -, beginning with a letter or digit", k.Name)
	}
	if k.Hash == (Hash{}) {
		return errors.New("sha256 is missing")
	}
	if len(k.Models) > maxModels {
		return fmt.Errorf("models: %d of them, want at most %d", len(k.Models), maxModels)
	}
	for _, p := range k.Models {
		if p == "" || len(p) > maxPattern {
			return fmt.Errorf("models: %.20q...: want 1 to %d bytes", p, maxPattern)
		}
	}
	if k.Priority != "" && !slices.Contains(priorities, k.Priority) {
		return fmt.Errorf("priority %q: want one of %v", k.Priority, priorities)
	}
	for _, l := range []struct {
		name string
		most int64
	}{
		{"requests_per_minute", k.RequestsPerMinute}, {"requests_per_day", k.RequestsPerDay},
		{"tokens_per_minute", k.TokensPerMinute}, {"tokens_per_day", k.TokensPerDay}, {"concurrency", k.Concurrency},
	} {
		if l.most < 0 || l.most > maxCount {
			return fmt.Errorf("%s %d: want 0 (no limit) to %d", l.name, l.most, int64(maxCount))
		}
	}
	return nil
}

// roster checks keys one after the other, also for what they share and must not.
type roster struct {
	names  map[string]bool
	hashes map[Hash]bool
}

func newRoster() roster { return roster{map[string]bool{}, map[Hash]bool{}} }

func (r roster) add(k Key) error {
	if len(r.names) == MaxKeys {
		return fmt.Errorf("there are more than %d keys", MaxKeys)
	}
	if err := k.Validate(); err != nil {
		return fmt.Errorf("key %q: %w", k.Name, err)
	}
	if r.names[k.Name] {
		return fmt.Errorf("there are two keys %q", k.Name)
	}
	if r.hashes[k.Hash] {
		return fmt.Errorf("key %q: another one has the same sha256", k.Name)
	}
	r.names[k.Name], r.hashes[k.Hash] = true, true
	return nil
}
