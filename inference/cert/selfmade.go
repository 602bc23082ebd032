package cert

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"dure/inference/fetch"
)

const (
	// lifetime of a self-made certificate; renewBefore is how long before its end
	// it is made anew.
	lifetime    = 365 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour
	// backdate is for clients whose clock is behind.
	backdate = time.Hour
	// patience is how long another process may hold the lock.
	patience = 10 * time.Second
)

// The files of a self-made certificate in DURE_HOME. The number goes up when an
// older dure could misread them.
const (
	pairFile = "tls-1.pem" // certificate and key, the owner's only
	// File is the certificate alone, for clients to trust.
	File = "tls-1.crt"
)

const lockName = "tls"

// SelfMade returns a certificate that dure makes, kept in dir: for the loopback
// names, this machine's name and addresses, and hosts (names or addresses). The
// one that is there is used if it can be. A server that runs for so long that it
// ends makes it anew by itself. log gets what concerns that; nil discards it.
func SelfMade(dir string, hosts []string, log *slog.Logger) (*Pair, error) {
	return selfMade(dir, hosts, log, machineNames, time.Now)
}

func selfMade(dir string, hosts []string, log *slog.Logger, machine func() names, now func() time.Time) (*Pair, error) {
	want, err := wanted(hosts, machine())
	if err != nil {
		return nil, err
	}
	p := &Pair{File: filepath.Join(dir, File), log: log, now: now}
	p.load = func() (*tls.Certificate, string, error) { return makeOrReuse(dir, want, log, now()) }
	p.fresh = func(shown *x509.Certificate) bool { return !renew(shown, now()) }
	return newPair(p)
}

// makeOrReuse also says what it did, and why.
func makeOrReuse(dir string, want names, log *slog.Logger, now time.Time) (*tls.Certificate, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f := &fetch.Fetcher{Home: dir, Log: log}
	unlock, err := f.Lock(ctx, lockName)
	if err != nil {
		return nil, "", fmt.Errorf("self-made certificate: %w", err)
	}
	defer unlock()
	c, why, err := reusable(dir, want, now)
	if err != nil {
		return nil, "", fmt.Errorf("self-made certificate: %w", err)
	}
	note := "made anew: " + why
	switch why {
	case "":
		note = "the one of before"
	case none:
		note = "made now"
	}
	if c == nil {
		if c, err = create(want, now); err != nil {
			return nil, "", fmt.Errorf("self-made certificate: %w", err)
		}
	}
	if err := publish(f, dir, c, why != ""); err != nil {
		return nil, "", fmt.Errorf("self-made certificate: %w", err)
	}
	return c, note, nil
}

const none = "there was none"

// reusable is the certificate that is there, or why it is not used. An error is
// for a file that cannot be read at all: it may be fine, so it is not replaced.
func reusable(dir string, want names, now time.Time) (*tls.Certificate, string, error) {
	path := filepath.Join(dir, pairFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none, nil
	}
	if err != nil {
		return nil, "", err
	}
	c, err := parsePair(text, text, path, path)
	if err != nil {
		return nil, err.Error(), nil
	}
	switch missing := want.missing(c.Leaf); {
	case renew(c.Leaf, now):
		return nil, "the one of before ends on " + day(c.Leaf.NotAfter), nil
	case now.Before(c.Leaf.NotBefore):
		return nil, "the one of before begins on " + day(c.Leaf.NotBefore) + " only", nil
	case missing != "":
		return nil, "the one of before is not for " + missing, nil
	}
	return c, "", nil
}

// renew reports whether a self-made certificate nears its end.
func renew(c *x509.Certificate, now time.Time) bool { return now.After(c.NotAfter.Add(-renewBefore)) }

func create(want names, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	form := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{CommonName: "dure, self-made"},
		NotBefore:    now.Add(-backdate), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, // and says that it is no authority
		DNSNames:              want.dns, IPAddresses: want.ips(),
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// publish writes what is not there as it should be. The file with both is what
// counts, and replaced at once; the other is a copy.
func publish(f *fetch.Fetcher, dir string, c *tls.Certificate, changed bool) error {
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Leaf.Raw})
	if changed {
		der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
		if err != nil {
			return err
		}
		both := append(public[:len(public):len(public)], pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
		if err := write(f, filepath.Join(dir, pairFile), both, 0o600); err != nil {
			return err
		}
	} else if err := os.Chmod(filepath.Join(dir, pairFile), 0o600); err != nil {
		return err
	}
	copied := filepath.Join(dir, File)
	if there, err := os.ReadFile(copied); err == nil && string(there) == string(public) {
		return nil
	}
	return write(f, copied, public, 0o644)
}

// write replaces a file whole. The caller holds the lock.
func write(f *fetch.Fetcher, path string, data []byte, mode fs.FileMode) (err error) {
	stage, err := f.Stage(lockName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Discard()) }()
	const part = "part"
	if err := os.WriteFile(filepath.Join(stage.Dir, part), data, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, fetch.DiskFull(err, f.Home, 0))
	}
	return stage.Publish(part, path)
}
