package remote

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// maxKey is far more than any key has, in bytes.
const maxKey = 4 << 10

// redacted is what a key shows of itself.
const redacted = "[key]"

// Key is the secret that an endpoint wants. However it is printed, logged or encoded,
// it shows nothing of itself. The zero Key is none.
type Key struct {
	value  *string // behind a pointer, which is what printing a private field shows
	origin string
}

// NewKey is a key that the caller has already; an empty one is none.
func NewKey(value string) Key {
	if value == "" {
		return Key{}
	}
	return Key{value: &value}
}

// ReadKey reads a key from an environment variable or from a file: at most one of env
// and file is named, and without either there is no key. lookup is os.LookupEnv. The
// file is a regular one that only its owner may read.
func ReadKey(lookup func(string) (string, bool), env, file string) (Key, error) {
	switch {
	case env != "" && file != "":
		return Key{}, errors.New("a key is either in an environment variable or in a file: name one of them")
	case env != "":
		value, ok := lookup(env)
		if !ok || value == "" {
			return Key{}, fmt.Errorf("the environment variable %s is to hold the endpoint's key and is not set", env)
		}
		return checked(value, "the environment variable "+env)
	case file != "":
		value, err := readKeyFile(file)
		if err != nil {
			return Key{}, err
		}
		return checked(value, "the file "+file)
	}
	return Key{}, nil
}

func readKeyFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("key file %s: it is no regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("key file %s: others may read it; run chmod 600 on it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", fmt.Errorf("key file: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// checked refuses what cannot stand in a header, without showing it.
func checked(value, origin string) (Key, error) {
	switch {
	case value == "":
		return Key{}, fmt.Errorf("%s holds no key: it is empty", origin)
	case len(value) > maxKey:
		return Key{}, fmt.Errorf("%s holds no key: it is longer than %d bytes", origin, maxKey)
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Key{}, fmt.Errorf("%s holds no key: a key has no white space and only ASCII characters, on one line", origin)
	}
	return Key{value: &value, origin: origin}, nil
}

func (k Key) text() string {
	if k.value == nil {
		return ""
	}
	return *k.value
}

// where says where to correct the key.
func (k Key) where() string {
	switch {
	case k.value == nil:
		return "none was sent; name one with key_env or key_file"
	case k.origin == "":
		return "the one that was given"
	}
	return "the one in " + k.origin
}

// clean is text without the key, for what an endpoint says.
func (k Key) clean(text string) string {
	if k.value == nil {
		return text
	}
	return strings.ReplaceAll(text, *k.value, redacted)
}

func (k Key) String() string {
	if k.value == nil {
		return "[no key]"
	}
	return redacted
}

// GoString implements fmt.GoStringer.
func (k Key) GoString() string { return k.String() }

// LogValue implements slog.LogValuer.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText implements encoding.TextMarshaler.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
