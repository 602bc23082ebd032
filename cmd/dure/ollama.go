package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"dure/gguf"
	"dure/inference"
	"dure/inference/catalog"
	chattemplate "dure/inference/chat"
	"dure/inference/fetch"
	"dure/inference/ollama"
)

// shelf is the catalogue as the Ollama surface asks for it.
type shelf struct {
	h      *host
	copies *copies

	mu    sync.Mutex
	known map[string]described // by name
}

// described is what a file's header told, as long as the file is the same.
type described struct {
	size     int64
	modified time.Time
	details  ollama.Details
}

func newShelf(h *host, c *copies) *shelf {
	return &shelf{h: h, copies: c, known: map[string]described{}}
}

// Describe implements ollama.Catalogue.
func (s *shelf) Describe(name string) (ollama.Details, error) {
	e, err := s.entry(name)
	if err != nil {
		return ollama.Details{}, err
	}
	path, here := catalog.Local(s.h.home, e)
	if !here {
		return ollama.Details{Bytes: e.Bytes, Licence: e.Licence}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return ollama.Details{}, fmt.Errorf("model %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.known[name]; ok && k.size == info.Size() && k.modified.Equal(info.ModTime()) {
		return k.details, nil
	}
	d, err := readDetails(path)
	if err != nil {
		return d, fmt.Errorf("model %s: %w", name, err)
	}
	d.Bytes, d.Modified, d.Licence, d.Digest = max(e.Bytes, info.Size()), info.ModTime(), e.Licence, e.SHA256
	s.known[name] = described{info.Size(), info.ModTime(), d}
	return d, nil
}

func (s *shelf) entry(name string) (catalog.Entry, error) {
	e, ok := s.h.catalog.Find(s.copies.model(name))
	if !ok {
		return e, inference.Errorf(inference.CodeModelNotFound, "it is not in the catalogue; dure list shows what is")
	}
	return e, nil
}

// Loaded implements ollama.Catalogue.
func (s *shelf) Loaded() []ollama.Loaded {
	runners := s.h.pool.Loaded()
	var all []ollama.Loaded
	for _, row := range s.h.pool.Status() {
		r, ok := runners[row.Name]
		if !ok {
			continue
		}
		info := r.Info()
		l := ollama.Loaded{Name: row.Name, Bytes: row.Bytes, Context: info.Context}
		if info.Device != "CPU" {
			l.Device = row.Bytes
		}
		if row.Expires > 0 {
			l.Until = time.Now().Add(row.Expires).UTC()
		}
		all = append(all, l)
	}
	return all
}

// Pull implements ollama.Catalogue. What a pull may cost is what the environment says,
// as for dure pull.
func (s *shelf) Pull(ctx context.Context, name string, tell func(ollama.Progress)) error {
	e, err := s.entry(name)
	if err != nil {
		return err
	}
	options, err := pullOptions{}.options()
	if err != nil {
		return err
	}
	f := &fetch.Fetcher{Home: s.h.home, Log: s.h.log, Progress: func(p fetch.Progress) {
		tell(ollama.Progress{Status: p.Step + " " + p.Name, Digest: digest(e), Total: p.Total, Done: p.Done})
	}}
	if _, err := catalog.Pull(ctx, f, e, options); err != nil {
		return pullFailed(name, err)
	}
	return nil
}

// pullFailed is what a client may know of a pull that failed.
func pullFailed(name string, err error) error {
	return inference.Errorf(inference.CodeLoadFailed, "pull %s: %v", name, err)
}

// Copy implements ollama.Catalogue.
func (s *shelf) Copy(from, to string) error { return s.copies.add(from, to) }

// Remove implements ollama.Catalogue. Of a copy the name goes; a model that has copies
// stays, since they would be names of nothing.
func (s *shelf) Remove(ctx context.Context, name string) error {
	if was, err := s.copies.remove(name); was || err != nil {
		return err
	}
	if _, err := s.entry(name); err != nil {
		return err
	}
	if of := s.copies.list(name); len(of) > 0 {
		return inference.Errorf(inference.CodeInvalidRequest, "it has copies, which are names of the same file: delete %s first", strings.Join(of, ", "))
	}
	if err := s.h.pool.Unload(ctx, name, false); err != nil {
		return err
	}
	if err := removeModel(ctx, io.Discard, &fetch.Fetcher{Home: s.h.home, Log: s.h.log}, s.h.catalog, name); err != nil {
		return inference.Errorf(inference.CodeInvalidRequest, "%v", err)
	}
	return nil
}

func digest(e catalog.Entry) string {
	if e.SHA256 == "" {
		return ""
	}
	return "sha256:" + e.SHA256
}

// readDetails reads a file's header.
func readDetails(path string) (ollama.Details, error) {
	d := ollama.Details{Here: true}
	m, err := gguf.Open(path)
	if err != nil {
		return d, err
	}
	defer m.Close()
	g, err := m.Geometry()
	var unknown *gguf.UnknownArchitectureError
	if err != nil && !errors.As(err, &unknown) {
		return d, err
	}
	d.Architecture, d.Parameters, d.Quantization = g.Architecture, billions(g.Parameters), g.FileType
	d.Context, d.Embedding = g.TrainContext, g.Embedding
	text := func(key string) string {
		if v, ok := m.Metadata().Get(key); ok {
			if s, err := v.Text(); err == nil {
				return s
			}
		}
		return ""
	}
	d.Template = text("tokenizer.chat_template")
	if t, err := chattemplate.Compile(d.Template); err == nil {
		a := t.Abilities()
		d.Tools, d.Thinks = true, a.ThinkSwitch != "" || a.Effort
	}
	return d, nil
}

// billions is a count of parameters as people write it.
func billions(n uint64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1fB", float64(n)/1e9)
}
