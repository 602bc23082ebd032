package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
)

func sha512Of(data []byte) Hash {
	sum := sha512.Sum512(data)
	return MustParseHash("sha512-" + base64.StdEncoding.EncodeToString(sum[:]))
}

func sha256Of(data []byte) Hash {
	sum := sha256.Sum256(data)
	return MustParseHash("sha256:" + hex.EncodeToString(sum[:]))
}

func TestParseHashRefuses(t *testing.T) {
	good := sha512Of(nil).String()
	for _, s := range []string{"", "sha512-", "sha512-!!", good[:len(good)-4], good + "AAAA", "sha256:00", "sha256:" + strings.Repeat("g", 64),
		"sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "md5:00", good + " " + good} {
		if h, err := ParseHash(s); err == nil {
			t.Errorf("ParseHash(%q) = %v, want an error", s, h)
		}
	}
}

func FuzzParseHash(f *testing.F) {
	f.Add(sha512Of([]byte("a")).String())
	f.Add(sha256Of([]byte("a")).String())
	f.Add("sha512-====")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHash(s)
		if err != nil {
			return
		}
		again, err := ParseHash(h.String())
		if err != nil || again != h {
			t.Fatalf("%q parsed to %q, which parses to %v, %v", s, h, again, err)
		}
	})
}

func TestVerify(t *testing.T) {
	path := writeFile(t, filepath.Join(t.TempDir(), "f"), []byte("hello"))
	for _, h := range []Hash{sha512Of([]byte("hello")), sha256Of([]byte("hello"))} {
		if err := h.Verify(context.Background(), path); err != nil {
			t.Errorf("%v: %v", h, err)
		}
	}
	for _, h := range []Hash{sha512Of([]byte("hellp")), sha256Of([]byte("hellp"))} {
		e := as[*HashError](t, h.Verify(context.Background(), path))
		if e.Want != h.String() || e.Got == e.Want || e.Path != path {
			t.Errorf("error says %+v", e)
		}
	}
	if err := (Hash{}).Verify(context.Background(), path); err == nil {
		t.Error("a zero hash verified a file")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := sha256Of([]byte("hello")).Verify(ctx, path); err == nil {
		t.Error("a cancelled context verified a file")
	}
}
