package cert

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// lookEvery is how often the files are looked at, at most, as clients connect;
	// retryEvery is how soon after a failure.
	lookEvery  = time.Second
	retryEvery = time.Minute
	// soon is when the end of a certificate is worth a warning.
	soon = 14 * 24 * time.Hour
)

// Pair is a certificate with its key, as it is now.
type Pair struct {
	// Note says how a self-made certificate came about; "" for a given one.
	Note string
	// File is the certificate without its key, in PEM: what clients are given to
	// trust.
	File string

	// load also returns a note. It and fresh, which says whether what was loaded is
	// what there is, are called by one goroutine at a time.
	load  func() (*tls.Certificate, string, error)
	fresh func(shown *x509.Certificate) bool
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	look  time.Time // when to look again
	shown *tls.Certificate
	said  map[string]bool // what was said of shown, each once
}

// newPair loads for the first time.
func newPair(p *Pair) (_ *Pair, err error) {
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.said = map[string]bool{}
	if p.shown, p.Note, err = p.load(); err != nil {
		return nil, err
	}
	p.look = p.now().Add(lookEvery)
	p.age(p.now())
	return p, nil
}

// Config is for a server. It shows the certificate as it is when a client
// connects.
func (p *Pair) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.current(), nil },
	}
}

// current looks for a change, and follows it if it can.
func (p *Pair) current() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if wait := p.look.Sub(now); wait > 0 && wait <= retryEvery { // longer: the clock was set back
		return p.shown
	}
	p.look = now.Add(lookEvery)
	if !p.fresh(p.shown.Leaf) {
		p.follow(now)
	}
	p.age(now)
	return p.shown
}

func (p *Pair) follow(now time.Time) {
	c, note, err := p.load()
	if err != nil {
		p.look = now.Add(retryEvery)
		p.warn(err.Error(), "until that is mended, the certificate of before is shown")
		return
	}
	p.shown, p.said = c, map[string]bool{}
	p.log.Info("certificate changed", "fingerprint", fingerprint(c.Leaf), "note", note)
}

// age says when the certificate nears its end.
func (p *Pair) age(now time.Time) {
	end := p.shown.Leaf.NotAfter
	switch {
	case now.After(end):
		p.warn("it ended on "+day(end)+": clients refuse it", "renew it; the server takes a new one by itself")
	case end.Sub(now) < soon:
		p.warn("it ends on "+day(end), "renew it; the server takes a new one by itself")
	}
}

// warn says each problem of a certificate once.
func (p *Pair) warn(problem, fix string) {
	if !p.said[problem] {
		p.said[problem] = true
		p.log.Warn("certificate", "path", p.File, "problem", problem, "fix", fix)
	}
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

// Leaf is the certificate that is shown now.
func (p *Pair) Leaf() *x509.Certificate { return p.current().Leaf }

// Fingerprint is the SHA-256 of the certificate, as browsers and openssl write
// it: pairs of hexadecimal digits with colons.
func (p *Pair) Fingerprint() string { return fingerprint(p.Leaf()) }

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}
