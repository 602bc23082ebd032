package front

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"dure/inference/front/strict"
)

// door decides which Host and Origin headers get in. A page on the web can make
// the browser of whoever runs this server send requests to it, under a name of
// the page's own that resolves to this machine. Such a request carries that
// name as its Host and the page as its Origin, and is turned away by both.
type door struct {
	hosts, origins     []string // lower case
	anyHost, anyOrigin bool
}

func newDoor(hosts, origins []string) door {
	var d door
	for _, name := range hosts {
		d.hosts = append(d.hosts, hostName(name))
	}
	for _, origin := range origins {
		d.origins = append(d.origins, strings.ToLower(strings.TrimSuffix(origin, "/")))
	}
	d.anyHost = slices.Contains(hosts, "*")
	d.anyOrigin = slices.Contains(origins, "*")
	return d
}

// hostName is the bare, lower-case name or address in a Host header.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isLoopback(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

func (d door) checkHost(r *http.Request) error {
	name := hostName(r.Host)
	if d.anyHost || isLoopback(name) || slices.Contains(d.hosts, name) || isLocalAddr(r, name) {
		return nil
	}
	if r.Host == "" { // as HTTP/1.0 allows
		return Refuse(http.StatusForbidden, CodeHost,
			"the request has no Host header: send one that names this server, such as \"Host: localhost\"")
	}
	return Refuse(http.StatusForbidden, CodeHost,
		"the Host header %q names another server; start this one with that host in its list of allowed hosts", strict.Clip(r.Host))
}

// isLocalAddr reports whether name is the very address that the connection
// came in on. No name that resolves to it gets this far, only the address.
func isLocalAddr(r *http.Request, name string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	here, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.WithZone("").Unmap() == here.Addr().WithZone("").Unmap()
}

// checkOrigin refuses pages from elsewhere and lets the allowed ones read the
// answer.
func (d door) checkOrigin(w http.ResponseWriter, r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	w.Header().Add("Vary", "Origin")
	if !d.allowsOrigin(r, origin) {
		return Refuse(http.StatusForbidden, CodeOrigin,
			"pages from %q may not call this server; start it with that origin in its list of allowed origins", strict.Clip(origin))
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After")
	return nil
}

func (d door) allowsOrigin(r *http.Request, origin string) bool {
	if d.anyOrigin || slices.Contains(d.origins, strings.ToLower(origin)) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	// The server's own pages: Host has been checked before.
	return isLoopback(hostName(u.Host)) || strings.EqualFold(u.Host, r.Host)
}

// isPreflight reports whether a browser asks what a page may send.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions &&
		r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers for an origin that checkOrigin let in.
func (h *Handler) preflight(x *Exchange, r *http.Request) error {
	allowed := h.table.methods(r.URL.Path)
	if allowed == "" {
		return h.table.unknown(r)
	}
	x.Header().Set("Access-Control-Allow-Methods", allowed)
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		x.Header().Set("Access-Control-Allow-Headers", asked)
	}
	x.Header().Set("Access-Control-Max-Age", "600")
	x.WriteHeader(http.StatusNoContent)
	return nil
}
