package english

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// readings are one word's: the usual one, and others by part of speech.
type readings struct {
	usual string
	by    map[string]string // "VERB", "VBD", ..., and "None" before a pause; mostly nil
}

type dictionary map[string]readings

// find looks a word up as it is written, then with the case of its first letter changed:
// a name in small letters and a word at the beginning of a sentence are known as well.
func (d dictionary) find(word string) (readings, bool) {
	if e, ok := d[word]; ok {
		return e, true
	}
	lower := strings.ToLower(word)
	if word == lower {
		e, ok := d[capital(word)]
		return e, ok
	}
	if word == capital(lower) {
		e, ok := d[lower]
		return e, ok
	}
	return readings{}, false
}

func capital(word string) string {
	r := []rune(word)
	if len(r) == 0 {
		return word
	}
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}

// maxFile is more than any file of a voice holds, unpacked.
const maxFile = 64 << 20

// open reads a file of the voice, unpacking what ends in .gz.
func open(files fs.FS, name string, read func(io.Reader) error) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := read(io.LimitReader(r, maxFile)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readDictionary(files fs.FS, name string) (dictionary, error) {
	var raw map[string]any // decoded without types, which is far faster
	err := open(files, name, func(r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &raw)
	})
	d := make(dictionary, len(raw))
	for w, v := range raw {
		d[w] = readingsOf(v)
	}
	return d, err
}

// readingsOf takes either a reading or an object of them by part of speech, with DEFAULT
// in it.
func readingsOf(v any) readings {
	usual, _ := v.(string)
	e := readings{usual: usual}
	by, _ := v.(map[string]any)
	for tag, v := range by {
		reading, ok := v.(string)
		switch {
		case !ok: // null: the word has no reading of its own there
		case tag == "DEFAULT":
			e.usual = reading
		default:
			if e.by == nil {
				e.by = map[string]string{}
			}
			e.by[tag] = reading
		}
	}
	return e
}
