package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"dure/inference/cert"
	"dure/inference/front"
	"dure/inference/key"
)

// doorOptions say who gets in, and whether anybody can listen on the way.
type doorOptions struct {
	keys            string
	tls             bool
	tlsCert, tlsKey string
	connections     int
}

func (o *doorOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.keys, "keys", "", "the file of keys (see dure key); "+key.FileName+" in DURE_HOME if empty")
	f.BoolVar(&o.tls, "tls", false, "serve https with a certificate that dure makes")
	f.StringVar(&o.tlsCert, "tls-cert", "", "serve https with this certificate (PEM, with those between it and its authority); needs --tls-key")
	f.IntVar(&o.connections, "connections", front.DefaultConnections, "connections at once; beyond that those without a request give way, then new ones get 503")
	f.StringVar(&o.tlsKey, "tls-key", "", "the key of --tls-cert (PEM)")
}

func (o *doorOptions) validate() error {
	switch {
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key belong together: give both, or --tls alone for a certificate that dure makes")
	case o.connections < 1:
		return fmt.Errorf("--connections %d: must be at least 1", o.connections)
	case o.tls && o.tlsCert != "":
		return errors.New("--tls makes a certificate, --tls-cert names one: give one of them")
	}
	return nil
}

// open opens the keys, for closeRing to close.
func (o *doorOptions) open(log *slog.Logger) (*key.Ring, error) {
	file, err := keyFile(o.keys)
	if err != nil {
		return nil, err
	}
	return key.Open(key.Options{File: file, Given: o.keys != "", Unnamed: apiKeys(), Log: log})
}

// closeRing writes what the keys have used.
func closeRing(ring *key.Ring, log *slog.Logger) {
	if err := ring.Close(); err != nil {
		log.Error("what the keys used since it was last written is lost", "error", err)
	}
}

// certificate returns the one to show; nil for plain http.
func (o *doorOptions) certificate(home, addr string, hosts []string, log *slog.Logger) (*cert.Pair, error) {
	switch {
	case o.tlsCert != "":
		return cert.Load(o.tlsCert, o.tlsKey, log)
	case !o.tls:
		return nil, nil
	}
	names := slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == "*" })
	if host, _, err := net.SplitHostPort(addr); err == nil && host != "" {
		names = append(names, host)
	}
	return cert.SelfMade(home, names, log)
}

// entrance is where clients come in.
type entrance struct {
	net.Listener
	ring *key.Ring
	cert *cert.Pair // nil for plain http
}

// serve answers until the server is closed. HTTP/2 stays off: one slow reader among
// the streams of a connection would hold up the others.
func (e entrance) serve(srv *http.Server) error {
	if e.cert == nil {
		return srv.Serve(e)
	}
	srv.TLSConfig = e.cert.Config()
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)
	return srv.ServeTLS(e, "", "")
}

// tell says where everything is.
func (e entrance) tell(out io.Writer) {
	scheme, options := "http", ""
	if e.cert != nil {
		scheme, options = "https", " --cacert "+e.cert.File
		note := "SHA-256 " + e.cert.Fingerprint()
		if e.cert.Note != "" {
			note = "self-made certificate: " + e.cert.Note + "\n         " + note
		}
		fmt.Fprintf(out, "tls      %s\n         clients trust it with %s\n", note, e.cert.File)
	}
	if e.ring.Required() {
		options += " -H 'Authorization: Bearer KEY'"
	}
	url := scheme + "://" + e.Addr().String() + "/v1"
	fmt.Fprintf(out, `ready    %s

  curl %s/chat/completions%s -H 'Content-Type: application/json' \
    -d '{"messages":[{"role":"user","content":"Hello!"}],"stream":true}'

`, url, url, options)
}
