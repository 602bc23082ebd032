package cert

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
)

// Load uses a certificate that a person has: PEM files of the certificate, with
// those that vouch for it behind it, and of its key. Changes of the files are
// followed while the server runs. log gets what concerns them; nil discards it.
func Load(certFile, keyFile string, log *slog.Logger) (*Pair, error) {
	return load(certFile, keyFile, log, time.Now)
}

func load(certFile, keyFile string, log *slog.Logger, now func() time.Time) (*Pair, error) {
	var seen [2]fs.FileInfo
	stat := func() (now [2]fs.FileInfo) {
		for i, path := range []string{certFile, keyFile} {
			now[i], _ = os.Stat(path) // one that is gone is another one than before
		}
		return now
	}
	p := &Pair{File: certFile, log: log, now: now}
	p.load = func() (*tls.Certificate, string, error) {
		seen = stat() // before reading: what changes meanwhile is read again
		c, err := readPair(certFile, keyFile)
		if err == nil {
			err = valid(c.Leaf, certFile, now())
		}
		if problem := exposed(keyFile, seen[1]); problem != "" {
			p.warn(problem, "chmod 600 "+keyFile)
		}
		return c, "", err
	}
	p.fresh = func(*x509.Certificate) bool {
		is := stat()
		return same(seen[0], is[0]) && same(seen[1], is[1])
	}
	return newPair(p)
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// exposed says that others can read a key. A group may: many systems have one for
// this.
func exposed(file string, info fs.FileInfo) string {
	if info == nil || info.Mode().Perm()&0o007 == 0 {
		return ""
	}
	return fmt.Sprintf("%s has mode %04o: every user of this machine can read the key", file, info.Mode().Perm())
}

// valid refuses a certificate that every client would refuse.
func valid(leaf *x509.Certificate, file string, now time.Time) error {
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("certificate %s ended on %s: renew it", file, leaf.NotAfter.Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("certificate %s begins on %s only: is this machine's clock right?", file, leaf.NotBefore.Format(time.RFC3339))
	}
	return nil
}

// readPair reads both files; the errors name the one at fault.
func readPair(certFile, keyFile string) (*tls.Certificate, error) {
	certPEM, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("key of the certificate: %w", err)
	}
	return parsePair(certPEM, keyPEM, certFile, keyFile)
}

func parsePair(certPEM, keyPEM []byte, certFile, keyFile string) (*tls.Certificate, error) {
	if err := checkCertificate(certPEM); err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	if err := checkKey(keyPEM, keyFile); err != nil {
		return nil, fmt.Errorf("key %s: %w", keyFile, err)
	}
	c, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w; the first certificate in the file must be the server's own", certFile, keyFile, err)
	}
	return &c, nil
}

// checkCertificate looks at the first one, which is the server's own.
func checkCertificate(text []byte) error {
	all := blocks(text)
	i := slices.IndexFunc(all, func(b *pem.Block) bool { return b.Type == "CERTIFICATE" })
	if i < 0 {
		return errors.New("there is no CERTIFICATE in PEM; " + kinds(all))
	}
	_, err := x509.ParseCertificate(all[i].Bytes)
	return err
}

func checkKey(text []byte, file string) error {
	all := blocks(text)
	i := slices.IndexFunc(all, func(b *pem.Block) bool { return strings.HasSuffix(b.Type, "PRIVATE KEY") })
	if i < 0 {
		return errors.New("there is no PRIVATE KEY in PEM; " + kinds(all))
	}
	if b := all[i]; b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != "" {
		return fmt.Errorf("it is encrypted: `openssl pkey -in %s -out FILE` writes it without a password", file)
	}
	return nil
}

func blocks(text []byte) (all []*pem.Block) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return all
		}
		all = append(all, b)
	}
}

// kinds says what a file has instead.
func kinds(all []*pem.Block) string {
	if len(all) == 0 {
		return "it is no PEM file"
	}
	var names []string
	for _, b := range all {
		names = append(names, b.Type)
	}
	return "it has " + strings.Join(names, ", ")
}
