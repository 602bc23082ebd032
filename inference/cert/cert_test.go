package cert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
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

// A machine with two names and addresses.
func aMachine() names {
	return names{
		dns: []string{"box", "box.local"}, addrs: []netip.Addr{netip.MustParseAddr("192.168.7.9")},
		fleeting: []netip.Addr{netip.MustParseAddr("2001:db8::1")},
	}
}

func TestSelfMade(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "home"), newClock()
	p, err := selfMade(dir, []string{"Dure.Example.org.", "10.0.0.1", "::ffff:10.0.0.2", "[fd00::1]", "0.0.0.0", "localhost"}, nil, aMachine, c.now)
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, p)
	for _, name := range []string{
		"localhost", "127.0.0.1", "::1", "box", "box.local", "192.168.7.9", "2001:db8::1",
		"dure.example.org", "10.0.0.1", "10.0.0.2", "fd00::1",
	} {
		if _, err := visit(addr, p.File, name, c.now(), 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"example.org", "0.0.0.0", "10.0.0.3"} {
		if _, err := visit(addr, p.File, name, c.now(), 0); err == nil {
			t.Errorf("it is for %s too", name)
		}
	}
	if _, err := visit(addr, p.File, "localhost", c.now().Add(lifetime+time.Hour), 0); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after a year: %v", err)
	}
	leaf := p.Leaf()
	if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() || leaf.IsCA || !leaf.BasicConstraintsValid ||
		leaf.NotAfter.Sub(c.now()).Round(time.Hour) != lifetime || p.Note != "made now" {
		t.Errorf("%+v, %s", leaf, p.Note)
	}
	for name, mode := range map[string]fs.FileMode{pairFile: 0o600, certFile: 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if text := read(t, p.File); strings.Contains(text, "PRIVATE") || p.File != filepath.Join(dir, certFile) {
		t.Errorf("%s: %s", p.File, text)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestWrongHosts(t *testing.T) {
	for _, host := range []string{"", "a b", "*", "-a", "a..b", "https://x", strings.Repeat("a", 64), "10.0.0.1:80"} {
		if _, err := SelfMade(t.TempDir(), []string{host}, nil); err == nil || !strings.Contains(err.Error(), "a name or an address") {
			t.Errorf("%q: %v", host, err)
		}
	}
}

// This machine has names and addresses that a certificate can be made for.
func TestThisMachine(t *testing.T) {
	p, err := SelfMade(t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := wanted(nil, machineNames()); err != nil || want.missing(p.Leaf()) != "" {
		t.Errorf("%+v, %v", want, err)
	}
}

// The certificate stays as long as it can, and what makes another one is said.
func TestSelfMadeAgain(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	again := func(hosts []string, machine func() names) *Pair {
		t.Helper()
		p, err := selfMade(dir, hosts, nil, machine, c.now)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := again([]string{"a.example"}, aMachine).Leaf()
	fewer := func() names {
		return names{dns: []string{"box"}, fleeting: []netip.Addr{netip.MustParseAddr("2001:db8::2")}}
	}
	for _, step := range []struct {
		name    string
		before  func()
		hosts   []string
		machine func() names
		note    string // of a new one; "" where the one of before is used
	}{
		{"the same", nil, []string{"a.example"}, aMachine, ""},
		{"fewer names, another address of IPv6", nil, nil, fewer, ""},
		{"open to others", func() { os.Chmod(filepath.Join(dir, pairFile), 0o644) }, nil, aMachine, ""},
		{"without the copy", func() { os.Remove(filepath.Join(dir, certFile)) }, nil, aMachine, ""},
		{"a copy of another one", func() { put(t, filepath.Join(dir, certFile), "x") }, nil, aMachine, ""},
		{"a new host", nil, []string{"b.example"}, aMachine, "not for b.example"},
		{"a new address", nil, nil, func() names { return names{addrs: []netip.Addr{netip.MustParseAddr("192.168.7.10")}} }, "not for 192.168.7.10"},
		{"31 days before the end", func() { c.add(lifetime - renewBefore - 24*time.Hour) }, nil, fewer, "not for box"},
		{"334 days later", func() { c.add(lifetime - renewBefore - 24*time.Hour) }, nil, fewer, ""},
		{"29 days before the end", func() { c.add(2 * 24 * time.Hour) }, nil, fewer, "ends on"},
		{"a clock set back", func() { c.add(-48 * time.Hour) }, nil, fewer, "begins on"},
		{"broken", func() { put(t, filepath.Join(dir, pairFile), "x") }, nil, fewer, "no PEM file"},
		{"gone", func() { os.Remove(filepath.Join(dir, pairFile)) }, nil, fewer, "made now"},
	} {
		if step.before != nil {
			step.before()
		}
		next := again(step.hosts, step.machine)
		if same := next.Leaf().Equal(first); same != (step.note == "") || !strings.Contains(next.Note, step.note) || same && next.Note != "the one of before" {
			t.Errorf("%s: the same is %v, %q", step.name, same, next.Note)
		}
		if _, err := visit(serve(t, next), next.File, "localhost", c.now(), 0); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if info, err := os.Stat(filepath.Join(dir, pairFile)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", step.name, info.Mode(), err)
		}
		first = next.Leaf()
	}
}

// A server that runs for a year makes another one in time, without a restart.
func TestSelfMadeWhileRunning(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	var logs bytes.Buffer
	p, err := selfMade(dir, nil, slog.New(slog.NewTextHandler(&logs, nil)), aMachine, c.now)
	if err != nil {
		t.Fatal(err)
	}
	addr, first := serve(t, p), p.Leaf()
	c.add(lifetime - renewBefore - time.Hour)
	if got, err := visit(addr, p.File, "box", c.now(), 0); err != nil || !got.Equal(first) {
		t.Errorf("%v", err)
	}
	// Where it cannot be written, the one of before is shown, and that is said once.
	pair := filepath.Join(dir, pairFile)
	if err := os.Remove(pair); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(pair, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.add(2 * time.Hour)
		if got, err := visit(addr, p.File, "box", c.now(), 0); err != nil || !got.Equal(first) {
			t.Errorf("%v", err)
		}
	}
	if said := logs.String(); strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, "is a directory") {
		t.Errorf("%q", said)
	}
	if err := os.Remove(pair); err != nil {
		t.Fatal(err)
	}
	c.add(2 * time.Hour)
	got, err := visit(addr, p.File, "box", c.now(), 0)
	if err == nil { // the handshake made it: the file that was trusted before is the old one
		t.Errorf("a client that trusts the old one gets %v", got.NotAfter)
	}
	if got, err = visit(addr, p.File, "box", c.now(), 0); err != nil || got.Equal(first) || !got.Equal(p.Leaf()) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(logs.String(), p.Fingerprint()) {
		t.Errorf("%q", logs.String())
	}
}

// Servers that start at once show the same one.
func TestSelfMadeAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	var prints [6]string
	for i := range prints {
		wg.Go(func() {
			p, err := selfMade(dir, nil, nil, aMachine, time.Now)
			if err != nil {
				t.Error(err)
				return
			}
			prints[i] = p.Fingerprint()
		})
	}
	wg.Wait()
	for _, p := range prints {
		if p != prints[0] {
			t.Errorf("%q", prints)
			break
		}
	}
}
