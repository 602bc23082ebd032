package key

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// FileError says what in a file of keys cannot be understood, and where.
type FileError struct {
	Path string
	Line int // from 1
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("keys: %s, line %d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// decode reads a file strictly: a field that is unknown, double, null or of
// another type is an error. One that was mistyped would otherwise be a limit that
// does not hold.
func decode(data []byte) ([]Key, *FileError) {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		at := int64(len(data))
		if s := (*json.SyntaxError)(nil); errors.As(err, &s) {
			at = s.Offset
		}
		return nil, &FileError{Line: lineAt(data, at), Err: err}
	}
	r := &reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	keys, err := r.file()
	if err != nil {
		return nil, &FileError{Line: lineAt(data, r.at), Err: err}
	}
	return keys, nil
}

// lineAt is the line of the byte before an offset.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:max(0, min(offset-1, int64(len(data))))], []byte("\n"))
}

// reader walks over valid JSON.
type reader struct {
	data []byte
	dec  *json.Decoder
	at   int64 // the end of what is being looked at, for the line of an error
}

func (r *reader) token() (json.Token, error) {
	t, err := r.dec.Token()
	r.at = r.dec.InputOffset()
	return t, err
}

// open reads the bracket that begins a value.
func (r *reader) open(bracket json.Delim, what string) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != bracket {
		return fmt.Errorf("want %s, found %v", what, t)
	}
	return nil
}

// members calls each for the fields of an object, with the decoder before the
// value.
func (r *reader) members(what string, each func(name string) error) error {
	if err := r.open('{', what); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r.dec.More() {
		t, err := r.token()
		if err != nil {
			return err
		}
		name, _ := t.(string) // valid JSON has nothing else here
		if seen[name] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if err := each(name); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

func (r *reader) file() ([]Key, error) {
	keys, found := []Key(nil), false
	err := r.members("an object with format and keys", func(name string) error {
		switch name {
		case "format":
			var n int
			if err := r.value(name, &n); err != nil {
				return err
			}
			if n != format {
				return fmt.Errorf("format %d: want %d", n, format)
			}
			return nil
		case "keys":
			found = true
			var err error
			keys, err = r.keys()
			return err
		}
		return fmt.Errorf("unknown field %q; there are format and keys", name)
	})
	if err == nil && !found {
		err = errors.New("the field keys is missing")
	}
	return keys, err
}

func (r *reader) keys() ([]Key, error) {
	if err := r.open('[', "a list of keys"); err != nil {
		return nil, err
	}
	keys, all := []Key{}, newRoster()
	for r.dec.More() {
		k, err := r.key()
		if err == nil { // here, so that the line of an error is that of the key
			err = all.add(k)
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	_, err := r.dec.Token()
	return keys, err
}

func (r *reader) key() (k Key, err error) {
	fields := map[string]any{
		"name": &k.Name, "sha256": &k.Hash, "created": &k.Created, "expires": &k.Expires, "disabled": &k.Disabled,
		"admin": &k.Admin, "models": &k.Models, "priority": &k.Priority,
		"requests_per_minute": &k.RequestsPerMinute, "requests_per_day": &k.RequestsPerDay,
		"tokens_per_minute": &k.TokensPerMinute, "tokens_per_day": &k.TokensPerDay, "concurrency": &k.Concurrency,
	}
	err = r.members("a key", func(name string) error {
		target, ok := fields[name]
		if !ok {
			return fmt.Errorf("unknown field %q of a key", name)
		}
		return r.value(name, target)
	})
	if err != nil {
		return k, err
	}
	if k.Models != nil && len(k.Models) == 0 {
		return k, fmt.Errorf("key %q: models is empty: name some, leave it out for all, or set disabled", k.Name)
	}
	return k, nil
}

// value decodes what comes next.
func (r *reader) value(name string, into any) error {
	var raw json.RawMessage
	if err := r.dec.Decode(&raw); err != nil {
		return err
	}
	if string(raw) == "null" {
		return fmt.Errorf("%s is null: give it a value, or leave it out", name)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
