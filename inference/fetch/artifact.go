package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// Client is a package client.
type Client string

// The clients that can be asked for an archive.
const (
	NPM Client = "npm" // npm pack NAME@VERSION
	PIP Client = "pip" // pip download --no-deps NAME==VERSION
)

// Artifact is one pinned archive of a package registry.
type Artifact struct {
	Client  Client
	Package string // as the registry spells it
	Version string // exact
	// File is the name the client gives the archive, and its name in downloads.
	File string
	// Bytes is the exact size of the archive.
	Bytes int64
	Hash  Hash
}

// Spec is the package and version in the client's own words.
func (a Artifact) Spec() string {
	if a.Client == NPM {
		return a.Package + "@" + a.Version
	}
	return a.Package + "==" + a.Version
}

// Command is what a person would type to get the archive into the current
// folder.
func (a Artifact) Command() string {
	if a.Client == NPM {
		return "npm pack " + a.Spec()
	}
	return "pip download --no-deps --only-binary=:all: " + a.Spec()
}

// Hash is a pinned digest: "sha512-" and base64 as npm writes it, or "sha256:"
// and hexadecimal digits as pip does.
type Hash struct {
	algorithm string
	sum       string // raw bytes, so that Hash is comparable
}

// ParseHash reads either form.
func ParseHash(s string) (Hash, error) {
	if rest, ok := strings.CutPrefix(s, "sha512-"); ok {
		sum, err := base64.StdEncoding.Strict().DecodeString(rest)
		if err != nil || len(sum) != sha512.Size {
			return Hash{}, fmt.Errorf("hash %q: want sha512- and the base64 of %d bytes", s, sha512.Size)
		}
		return Hash{algorithm: "sha512", sum: string(sum)}, nil
	}
	if rest, ok := strings.CutPrefix(s, "sha256:"); ok {
		sum, err := hex.DecodeString(rest)
		if err != nil || len(sum) != sha256.Size {
			return Hash{}, fmt.Errorf("hash %q: want sha256: and %d hexadecimal digits", s, 2*sha256.Size)
		}
		return Hash{algorithm: "sha256", sum: string(sum)}, nil
	}
	return Hash{}, fmt.Errorf("hash %q: want it to start with sha512- or sha256:", s)
}

// MustParseHash is ParseHash for pins in source code.
func MustParseHash(s string) Hash {
	h, err := ParseHash(s)
	if err != nil {
		panic(err)
	}
	return h
}

// String is the form that ParseHash reads; empty for the zero Hash.
func (h Hash) String() string {
	switch h.algorithm {
	case "sha512":
		return "sha512-" + base64.StdEncoding.EncodeToString([]byte(h.sum))
	case "sha256":
		return "sha256:" + hex.EncodeToString([]byte(h.sum))
	}
	return ""
}

func (h Hash) new() (hash.Hash, error) {
	switch h.algorithm {
	case "sha512":
		return sha512.New(), nil
	case "sha256":
		return sha256.New(), nil
	}
	return nil, fmt.Errorf("a zero hash verifies nothing")
}

// Verify reads the file at path and compares. A difference is a *HashError.
func (h Hash) Verify(ctx context.Context, path string) error {
	return h.verify(ctx, path, func(int) {})
}

// verify tells count of the bytes it has read.
func (h Hash) verify(ctx context.Context, path string, count func(n int)) error {
	digest, err := h.new()
	if err != nil {
		return fmt.Errorf("verify %s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	defer f.Close()
	if _, err := io.CopyBuffer(digest, &contextReader{ctx, f, count}, make([]byte, 1<<20)); err != nil {
		return fmt.Errorf("verify %s: %w", path, err)
	}
	sum := digest.Sum(nil)
	if subtle.ConstantTimeCompare(sum, []byte(h.sum)) == 1 {
		return nil
	}
	return &HashError{Path: path, Want: h.String(), Got: Hash{h.algorithm, string(sum)}.String()}
}

// contextReader makes a long copy end when its context does.
type contextReader struct {
	ctx   context.Context
	r     io.Reader
	count func(n int) // may be nil
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := c.r.Read(p)
	if c.count != nil {
		c.count(n)
	}
	return n, err
}

// Hex is the digest in hexadecimal digits.
func (h Hash) Hex() string { return hex.EncodeToString([]byte(h.sum)) }
