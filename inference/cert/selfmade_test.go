package cert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

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
	for name, mode := range map[string]fs.FileMode{pairFile: 0o600, File: 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if text := read(t, p.File); strings.Contains(text, "PRIVATE") || p.File != filepath.Join(dir, File) {
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
		{"without the copy", func() { os.Remove(filepath.Join(dir, File)) }, nil, aMachine, ""},
		{"a copy of another one", func() { put(t, filepath.Join(dir, File), "x") }, nil, aMachine, ""},
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
