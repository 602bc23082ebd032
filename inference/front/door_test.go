package front

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The address that a connection came in on is a Host that names this server.
func TestHostIsLocalAddress(t *testing.T) {
	for local, want := range map[string]bool{
		"192.168.1.5:8484": true, "192.168.1.6:8484": false, "[fe80::1%eth0]:8484": false,
	} {
		r := httptest.NewRequest("GET", "http://192.168.1.5:8484/health", nil)
		addr, err := net.ResolveTCPAddr("tcp", local)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr)) // as net/http does
		if err := newDoor(nil, nil).checkHost(r); (err == nil) != want {
			t.Errorf("%s: %v", local, err)
		}
	}
}
