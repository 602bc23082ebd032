// Package consent keeps who allowed their voice to be imitated, for what and for how long:
// a file of records, one for each recording, by the SHA-256 of its sound. It owns the
// records and the decision whether a recording may be used (Check); it owns no sound and no
// engine.
//
// Every Check reads the file, so that a revocation holds from the next one on, in every
// process. A file that cannot be read allows nothing. Records are added and revoked, never
// taken away or changed otherwise: what was allowed when can be told later. One writer at a
// time, by a lock beside the file.
//
// cmd/dure calls it: `dure voice consent`, and the voice process before a reference voice is
// used. It imports nothing of ours but package audio.
package consent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"dure/audio"
)

// Basis is by what right a recording is used.
type Basis string

// Bases.
const (
	Own     Basis = "own"           // the voice of whoever entered it
	Licence Basis = "licence"       // a written one
	Public  Basis = "public-domain" // nobody's any more
)

// Record is a consent.
type Record struct {
	SHA256    string    `json:"sha256"` // of the sound: Sum
	Seconds   float64   `json:"seconds"`
	Subject   string    `json:"subject"` // whose voice it is
	Basis     Basis     `json:"basis"`
	Purpose   string    `json:"purpose"`             // what for
	Languages []string  `json:"languages,omitempty"` // none: any
	Evidence  string    `json:"evidence_sha256,omitempty"`
	EnteredBy string    `json:"entered_by"`
	Entered   time.Time `json:"entered"`
	Expires   time.Time `json:"expires,omitzero"` // zero: never
	Revoked   time.Time `json:"revoked,omitzero"`
}

// Sum names a recording: SHA-256 of its samples as mono 16-bit PCM at its own rate, with the
// rate before them, in hexadecimal.
func Sum(w *audio.WAV) string {
	h := sha256.New()
	fmt.Fprintf(h, "pcm16 %d\n", w.Rate)
	h.Write(audio.PCM16.Encode(nil, w.PCM))
	return hex.EncodeToString(h.Sum(nil))
}

// Missing says that a recording may not be used, and why.
type Missing struct{ Why string }

func (m *Missing) Error() string {
	return "this voice may not be imitated: " + m.Why + "; `dure voice consent add` records a consent"
}

// Store is a file of records.
type Store struct {
	Path string
	Now  func() time.Time // nil is time.Now
}

func (s Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// mostBytes of the file: tens of thousands of records.
const mostBytes = 16 << 20

// List is all records, in the order in which they were entered.
func (s Store) List() ([]Record, error) {
	info, err := os.Stat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > mostBytes) {
		err = fmt.Errorf("want a regular file of at most %d bytes", mostBytes)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(s.Path)
	}
	var all []Record
	if err == nil {
		all, err = decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("consents in %s: %w", s.Path, err)
	}
	return all, nil
}

func decode(data []byte) (all []Record, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("there is more than one list")
	}
	for i, r := range all {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return all, nil
}

func (r *Record) check() error {
	sum, err := hex.DecodeString(r.SHA256)
	switch {
	case err != nil || len(sum) != sha256.Size:
		return fmt.Errorf("sha256 %q: 64 hexadecimal digits are expected", r.SHA256)
	case strings.TrimSpace(r.Subject) == "":
		return errors.New("whose voice it is must be said")
	case strings.TrimSpace(r.Purpose) == "":
		return errors.New("what it may be used for must be said")
	case !slices.Contains([]Basis{Own, Licence, Public}, r.Basis):
		return fmt.Errorf("basis %q: %s, %s or %s", r.Basis, Own, Licence, Public)
	case r.Basis == Licence && r.Evidence == "":
		return errors.New("a licence needs its file as evidence")
	case r.Entered.IsZero():
		return errors.New("when it was entered must be said")
	}
	return nil
}

// Add enters a record, now.
func (s Store) Add(r Record) error {
	r.Entered, r.Revoked = s.now().UTC(), time.Time{}
	if err := r.check(); err != nil {
		return fmt.Errorf("add a consent: %w", err)
	}
	if !r.Expires.IsZero() && !r.Expires.After(r.Entered) {
		return errors.New("add a consent: it would have expired already")
	}
	return s.change(func(all []Record) ([]Record, error) { return append(all, r), nil })
}

// Revoke ends all consents to a recording, named by the beginning of its sum (8 digits or
// more), and tells how many those were.
func (s Store) Revoke(sum string) (n int, err error) {
	sum = strings.ToLower(sum)
	if len(sum) < 8 {
		return 0, fmt.Errorf("revoke %q: at least 8 digits of the sum are needed", sum)
	}
	err = s.change(func(all []Record) ([]Record, error) {
		whole := ""
		for i := range all {
			if !strings.HasPrefix(all[i].SHA256, sum) {
				continue
			}
			if whole != "" && whole != all[i].SHA256 {
				return nil, fmt.Errorf("revoke %s: several recordings begin so", sum)
			}
			whole = all[i].SHA256
			if all[i].Revoked.IsZero() {
				all[i].Revoked = s.now().UTC()
				n++
			}
		}
		if whole == "" {
			return nil, fmt.Errorf("revoke %s: there is no consent to such a recording", sum)
		}
		return all, nil
	})
	return n, err
}

// Check reports whether a recording may be used for a language ("": not known) now: nil, or
// *Missing. Other errors mean that it cannot be told, and it may not.
func (s Store) Check(sum, language string) error {
	all, err := s.List()
	if err != nil {
		return err
	}
	why := "there is no record of a consent to recording " + sum[:min(12, len(sum))]
	for _, r := range all {
		if r.SHA256 != sum {
			continue
		}
		switch {
		case !r.Revoked.IsZero():
			why = fmt.Sprintf("%s's consent was revoked", r.Subject)
		case !r.Expires.IsZero() && !s.now().Before(r.Expires):
			why = fmt.Sprintf("%s's consent has expired", r.Subject)
		case len(r.Languages) > 0 && !slices.Contains(r.Languages, language):
			why = fmt.Sprintf("%s's consent is for %s", r.Subject, strings.Join(r.Languages, ", "))
		default:
			return nil
		}
	}
	return &Missing{why}
}

// change rewrites the file under its lock; what it held stays whole at every moment.
func (s Store) change(f func([]Record) ([]Record, error)) error {
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(s.Path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	if all, err = f(all); err != nil {
		return err
	}
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	if len(data) > mostBytes {
		return fmt.Errorf("%s is full", s.Path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(s.Path), ".consent-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", s.Path, err)
	}
	return os.Rename(tmp.Name(), s.Path)
}
