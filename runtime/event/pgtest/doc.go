// Package pgtest starts a real PostgreSQL for tests: its own server on a unix
// socket in a folder of its own, from Debian's packages, which it installs where it
// is allowed to. Where there is no server and none can be installed, the test is
// skipped and says why. Tests alone import it.
package pgtest

import "testing"

// Start starts a server that ends with the test. Tests that want to share one start
// it in a parent test.
func Start(t testing.TB) *Server {
	t.Helper()
	bin, err := find()
	if err != nil {
		t.Skipf("SKIPPED: no PostgreSQL here: %v", err)
	}
	s, err := start(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}
