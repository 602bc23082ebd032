package cert

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newClock() *clock { return &clock{at: time.Now()} }

// serve shows a certificate on a listener of this machine, as the server does.
func serve(t *testing.T, p *Pair) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }),
		TLSConfig: p.Config(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
	done := make(chan error, 1)
	go func() { done <- srv.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// visit is a client that trusts one file, and asks for a name at a time. It
// returns what it was shown.
func visit(addr, trust, name string, at time.Time, most uint16) (*x509.Certificate, error) {
	text, err := os.ReadFile(trust)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: name, MaxVersion: most, Time: func() time.Time { return at },
		},
	}}
	resp, err := client.Get("https://" + addr + "/")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
		return nil, errors.New("another answer: " + string(body))
	}
	return resp.TLS.PeerCertificates[0], nil
}

// made is a certificate of a given life, with its files.
type made struct {
	cert, key string
	leaf      *x509.Certificate
}

func give(t *testing.T, dir, name string, begins time.Time) made {
	t.Helper()
	c, err := create(names{dns: []string{"localhost"}, addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}, begins.Add(backdate))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	m := made{filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"), c.Leaf}
	put(t, m.cert, block("CERTIFICATE", c.Leaf.Raw))
	put(t, m.key, block("PRIVATE KEY", der))
	return m
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// put replaces a file, so that it is another one.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGiven(t *testing.T) {
	m := give(t, t.TempDir(), "a", time.Now())
	p, err := Load(m.cert, m.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, p)
	for _, name := range []string{"localhost", "127.0.0.1"} {
		if got, err := visit(addr, p.File, name, time.Now(), 0); err != nil || !got.Equal(m.leaf) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := visit(addr, p.File, "example.org", time.Now(), 0); !errors.As(err, new(x509.HostnameError)) {
		t.Errorf("another name: %v", err)
	}
	if _, err := visit(addr, give(t, t.TempDir(), "b", time.Now()).cert, "localhost", time.Now(), 0); err == nil {
		t.Error("a client that trusts another one connects")
	}
	if _, err := visit(addr, p.File, "localhost", time.Now(), tls.VersionTLS11); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("TLS 1.1: %v", err)
	}
	if _, err := visit(addr, p.File, "localhost", time.Now(), tls.VersionTLS12); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	}
	if p.Note != "" || len(p.Fingerprint()) != 95 || p.Fingerprint() != fingerprint(m.leaf) {
		t.Errorf("%q, %s", p.Note, p.Fingerprint())
	}
}

func TestGivenAndRefused(t *testing.T) {
	dir := t.TempDir()
	good, other := give(t, dir, "good", time.Now()), give(t, dir, "other", time.Now())
	ended := give(t, dir, "ended", time.Now().Add(-lifetime-2*time.Hour))
	early := give(t, dir, "early", time.Now().Add(3*time.Hour))
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		put(t, path, text)
		return path
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, cert, key, want string }{
		{"no certificate", filepath.Join(dir, "none"), good.key, "no such file"},
		{"no key", good.cert, filepath.Join(dir, "none.key"), "key of the certificate: open " + filepath.Join(dir, "none.key")},
		{"a certificate that cannot be read", dir, good.key, "is a directory"},
		{"a key that cannot be read", good.cert, dir, "key of the certificate: read " + dir + ": is a directory"},
		{"key of another one", good.cert, other.key, "private key does not match"},
		{"key of another kind", good.cert, file("rsa", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(weak))), "does not match"},
		{"swapped", good.key, good.cert, "there is no CERTIFICATE in PEM; it has PRIVATE KEY"},
		{"certificate for a key", good.cert, good.cert, "there is no PRIVATE KEY in PEM; it has CERTIFICATE"},
		{"no PEM", file("der", string(good.leaf.Raw)), good.key, "it is no PEM file"},
		{"empty key", good.cert, file("empty", ""), "it is no PEM file"},
		{"broken certificate", file("broken", block("CERTIFICATE", []byte("abc"))), good.key, "broken: x509"},
		{"broken key", good.cert, file("broken.key", block("PRIVATE KEY", []byte("abc"))), "broken.key"},
		{"encrypted", good.cert, file("enc", block("ENCRYPTED PRIVATE KEY", []byte("abc"))), "openssl pkey -in " + filepath.Join(dir, "enc")},
		{"encrypted, of old", good.cert, file("old", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nYWJj\n-----END RSA PRIVATE KEY-----\n"), "is encrypted"},
		{"authority first", file("chain", read(t, other.cert)+read(t, good.cert)), good.key, "must be the server's own"},
		{"ended", ended.cert, ended.key, "ended on"},
		{"not begun", early.cert, early.key, "is this machine's clock right"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Load(tc.cert, tc.key, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	// A chain in the right order, and a key beside other blocks.
	chain := file("chain2", read(t, good.cert)+read(t, other.cert))
	if _, err := Load(chain, file("both", read(t, good.cert)+read(t, good.key)), nil); err != nil {
		t.Error(err)
	}
}

// New files are shown to who connects afterwards; broken ones are not, and are
// said once.
func TestGivenChanges(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	m := give(t, dir, "a", c.now())
	var logs bytes.Buffer
	p, err := load(m.cert, m.key, slog.New(slog.NewTextHandler(&logs, nil)), c.now)
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, p)
	shows := func(want *x509.Certificate, trust string) {
		t.Helper()
		if got, err := visit(addr, trust, "localhost", c.now(), 0); err != nil || !got.Equal(want) {
			t.Errorf("%v", err)
		}
	}
	before := give(t, t.TempDir(), "before", c.now()) // a copy of what there is
	put(t, before.cert, read(t, m.cert))

	next := give(t, t.TempDir(), "next", c.now())
	put(t, m.cert, read(t, next.cert)) // half of a renewal
	shows(m.leaf, before.cert)         // not looked at yet
	for range 3 {
		c.add(retryEvery)
		shows(m.leaf, before.cert)
	}
	if said := logs.String(); strings.Count(said, "does not match") != 1 || !strings.Contains(said, "certificate of before is shown") {
		t.Errorf("%q", said)
	}
	put(t, m.key, read(t, next.key))
	c.add(lookEvery)
	shows(next.leaf, next.cert)
	if said := logs.String(); strings.Count(said, "certificate changed") != 1 || !strings.Contains(said, fingerprint(next.leaf)) {
		t.Errorf("%q", said)
	}
	if err := os.Remove(m.key); err != nil {
		t.Fatal(err)
	}
	c.add(lookEvery)
	shows(next.leaf, next.cert)
	if !strings.Contains(logs.String(), "no such file") {
		t.Errorf("%q", logs.String())
	}
	// A clock that is set back does not end the looking.
	c.add(-100 * time.Hour)
	last := give(t, t.TempDir(), "last", c.now())
	put(t, m.cert, read(t, last.cert))
	put(t, m.key, read(t, last.key))
	shows(last.leaf, last.cert)
}

func TestWarnings(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	m := give(t, dir, "a", c.now())
	if err := os.Chmod(m.key, 0o644); err != nil {
		t.Fatal(err)
	}
	var logs bytes.Buffer
	p, err := load(m.cert, m.key, slog.New(slog.NewTextHandler(&logs, nil)), c.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		wait time.Duration
		want string
	}{{0, "chmod 600 " + m.key}, {lifetime - soon + time.Hour, "it ends on"}, {soon, "clients refuse it"}} {
		c.add(step.wait)
		p.Leaf()
		c.add(time.Hour)
		p.Leaf()
		if said := logs.String(); strings.Count(said, step.want) != 1 || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: %q", step.want, said)
		}
		logs.Reset()
	}
	if err := os.Chmod(m.key, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := load(m.cert, m.key, slog.New(slog.NewTextHandler(&logs, nil)), time.Now); err != nil || logs.Len() > 0 {
		t.Errorf("%v, %q", err, logs.String())
	}
}
