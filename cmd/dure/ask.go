package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"dure/inference/cert"
)

// serverFlag adds the flag that names a server to ask. --url and --addr are one flag, and
// take the same: HOST:PORT, or a URL, also one up to /v1.
func serverFlag(f *pflag.FlagSet, at *string, help string) {
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "addr" {
			name = "url"
		}
		return pflag.NormalizedName(name)
	})
	f.StringVar(at, "url", defaultAddr, help+": HOST:PORT, or https://HOST:PORT for one that serves https (also --addr)")
}

// errSpeaksHTTPS is for a server that was asked without it.
var errSpeaksHTTPS = errors.New("it speaks https")

// serverURL is the URL of the server at an address, which may name its scheme and end
// with /v1.
func serverURL(addr string) string {
	addr = strings.TrimSuffix(strings.TrimSuffix(addr, "/"), "/v1")
	if strings.Contains(addr, "://") {
		return addr
	}
	return "http://" + addr
}

// httpClient trusts the certificate that dure made on this machine, besides those that
// the system trusts.
var httpClient = sync.OnceValues(func() (*http.Client, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(filepath.Join(home, cert.File))
	if errors.Is(err, fs.ErrNotExist) {
		return http.DefaultClient, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate to trust: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	roots.AppendCertsFromPEM(own)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: transport}, nil
})

// send a request to a server, with the user's key if there is one. A body is JSON.
func send(ctx context.Context, method, addr, path string, body []byte) (*http.Response, error) {
	client, err := httpClient()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, serverURL(addr)+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if keys := apiKeys(); len(keys) > 0 {
		req.Header.Set("Authorization", "Bearer "+keys[0])
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	// Go's answer to plain text where it wants TLS is the only one of so old a form.
	if resp.StatusCode == http.StatusBadRequest && resp.ProtoMinor == 0 {
		resp.Body.Close()
		return nil, errSpeaksHTTPS
	}
	return resp, nil
}

// unreached says why a server did not answer, and what to do.
func unreached(addr string, err error) error {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errSpeaksHTTPS):
		return fmt.Errorf("the server at %s: %w; name it as https://%s", addr, err, strings.TrimPrefix(addr, "http://"))
	case errors.As(err, &untrusted):
		return fmt.Errorf("the server at %s: %w; trusted are %s in DURE_HOME, which `dure serve --tls` writes, and what the system trusts (SSL_CERT_FILE names a file of more)", addr, untrusted, cert.File)
	}
	return fmt.Errorf("no server answers at %s: %w; start one with `dure serve`", addr, err)
}

// isThere reports whether err comes from a server that answers in a way of its own.
func isThere(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.Is(err, errSpeaksHTTPS) || errors.As(err, &untrusted)
}

// get asks a local server for something that it knows at once.
func get(ctx context.Context, addr, path string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	resp, err := send(ctx, http.MethodGet, addr, path, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = cancelOnClose{resp.Body, cancel}
	return resp, nil
}

// cancelOnClose keeps a request's context alive as long as its body is read.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c cancelOnClose) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
