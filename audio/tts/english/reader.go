package english

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"dure/audio/onnx"
)

// Reader reads English text.
type Reader struct {
	british      bool
	gold, silver dictionary // checked readings; others
	tagger       *tagger
	unknown      *unknown
	cache        map[string]string // readings of unknown words
}

// Load reads the dictionaries, weights and network from a voice's assets: the files
// lexicon_us_gold.json.gz, lexicon_us_silver.json.gz, tagger.json.gz, oov.onnx and
// oov.json, or those with gb in their names for British.
func Load(lib *onnx.Library, assets fs.FS, british bool) (*Reader, error) {
	accent, net := "us", "oov"
	if british {
		accent, net = "gb", "oov_gb"
	}
	r := &Reader{british: british, cache: map[string]string{}}
	jobs := []func() error{
		func() (err error) {
			r.gold, err = readDictionary(assets, "lexicon_"+accent+"_gold.json.gz")
			return err
		},
		func() (err error) {
			r.silver, err = readDictionary(assets, "lexicon_"+accent+"_silver.json.gz")
			return err
		},
		func() error {
			return open(assets, "tagger.json.gz", func(in io.Reader) (err error) {
				r.tagger, err = readTagger(in)
				return err
			})
		},
		func() (err error) {
			r.unknown, err = loadUnknown(lib, assets, net)
			return err
		},
	}
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, job := range jobs {
		all.Go(func() { errs[i] = job() })
	}
	all.Wait()
	err := errors.Join(errs...)
	if err != nil {
		if r.unknown != nil {
			r.Close()
		}
		return nil, fmt.Errorf("load English: %w", err)
	}
	return r, nil
}

// Close releases the network.
func (r *Reader) Close() { r.unknown.session.Close() }

// maxCache keeps a stranger's text from filling the memory.
const maxCache = 4096

// Phonemes reads a clause or a sentence: sounds, spaces between words, and the
// punctuation that the voices know.
func (r *Reader) Phonemes(ctx context.Context, text string) (string, error) {
	toks := expand(tokens(text))
	tags := r.tags(toks)
	out := make([]string, len(toks))
	next := pause
	for i := len(toks) - 1; i >= 0; i-- {
		t := toks[i]
		if t.kind == mark {
			out[i] = t.text
		} else {
			reading, err := r.word(ctx, t.text, tags[i], next, i+1 < len(toks) && strings.EqualFold(toks[i+1].text, "to"))
			if err != nil {
				return "", err
			}
			out[i] = strings.NewReplacer("ɾ", "T", "ʔ", "t").Replace(reading)
		}
		next = openingOf(out[i], next)
	}
	return join(toks, out), nil
}

// join puts the readings together: a space where the text had one, and between two words
// that it wrote without.
func join(toks []token, readings []string) string {
	var b strings.Builder
	for i, s := range readings {
		b.WriteString(s)
		if s == "" || i+1 == len(toks) {
			continue
		}
		if toks[i].space || toks[i].kind == word && toks[i+1].kind == word {
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String())
}

// expand replaces numbers by words.
func expand(toks []token) []token {
	var out []token
	for _, t := range toks {
		if t.kind != number {
			out = append(out, t)
			continue
		}
		words := say(t.text)
		for i, w := range words {
			out = append(out, token{kind: word, text: w, space: i+1 < len(words) || t.space})
		}
	}
	return out
}

// clitics are the endings that the tagger knows as words of their own.
var clitics = []string{"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"}

// tags gives every token the tag of its first part.
func (r *Reader) tags(toks []token) []string {
	var parts []string
	at := make([]int, len(toks))
	for i, t := range toks {
		at[i] = len(parts)
		rest := ""
		if t.kind == word {
			for _, c := range clitics {
				if stem, ok := strings.CutSuffix(t.text, c); ok && stem != "" {
					t.text, rest = stem, c
					break
				}
			}
		}
		parts = append(parts, t.text)
		if rest != "" {
			parts = append(parts, rest)
		}
	}
	tags := r.tagger.tag(parts)
	out := make([]string, len(toks))
	for i := range toks {
		out[i] = tags[at[i]]
	}
	return out
}
