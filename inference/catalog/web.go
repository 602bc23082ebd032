package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"dure/gguf"
	"dure/inference/fetch"
)

// HeaderError says that the header of a file speaks against it.
type HeaderError struct {
	File string
	Err  error
}

func (e *HeaderError) Error() string {
	return fmt.Sprintf("%s is refused by its header, the rest was not fetched: %v", e.File, e.Err)
}

func (e *HeaderError) Unwrap() error { return e.Err }

// webFile is a file of the entry on a web server.
type webFile struct {
	wanted
	link   fetch.Link
	remote fetch.Remote
	// inRepo is its path in the repository; empty for a plain URL.
	inRepo string
}

// web pulls from a hub or a plain address: look what there is, compare it with
// the pin, look whether somebody has it here already, judge the header, make sure
// of the room, and only then fetch.
func (p *puller) web(ctx context.Context) (string, error) {
	files := p.webFiles()
	pinned := known(files)
	if pinned {
		if path, ok, err := p.inPlace(ctx, wantedOf(files)); err != nil || ok {
			return path, err
		}
	}
	if err := p.probe(ctx, files); err != nil {
		return "", err
	}
	if !pinned {
		if path, ok, err := p.inPlace(ctx, wantedOf(files)); err != nil || ok {
			return path, err
		}
	}
	if err := p.judge(ctx, files[0]); err != nil {
		return "", err
	}
	if err := p.room(files); err != nil {
		return "", err
	}
	return fileOf(p.f.Home, p.e), p.fetchAll(ctx, files)
}

// known reports whether the hashes of all files are known without asking.
func known(files []webFile) bool {
	return !slices.ContainsFunc(files, func(w webFile) bool { return w.sha256 == "" })
}

func wantedOf(files []webFile) []wanted {
	var all []wanted
	for _, w := range files {
		all = append(all, w.wanted)
	}
	return all
}

// webFiles are the files as the entry and its pin name them.
func (p *puller) webFiles() []webFile {
	h := p.e.Source.HuggingFace
	if h == nil {
		w := wanted{p.e.fileName(), p.e.Bytes, p.e.SHA256}
		return []webFile{{wanted: w, link: p.link(w, p.e.Source.URL, "")}}
	}
	revision, all := h.revision(), wants(p.f.Home, p.e)
	pinned, ok := readPin(p.f.Home, p.e)
	if ok && !p.o.Repin && pinned.Commit != "" {
		revision = pinned.Commit
	}
	var files []webFile
	for i, file := range h.files() {
		w := all[i]
		if p.o.Repin && p.e.SHA256 == "" {
			w.bytes, w.sha256 = p.e.Bytes, ""
		}
		files = append(files, webFile{wanted: w, link: p.link(w, h.address(p.o.Hub, revision, file), p.o.Token), inRepo: file})
	}
	return files
}

func (p *puller) link(w wanted, url, token string) fetch.Link {
	l := fetch.Link{File: p.e.Name + "+" + w.name, URL: url, Token: token, Bytes: w.bytes}
	if w.sha256 != "" {
		l.Hash = fetch.MustParseHash("sha256:" + w.sha256) // its form was checked
	}
	return l
}

// probe asks the server for each file, completes what is wanted by what it says
// and pins that where the entry names no hash.
func (p *puller) probe(ctx context.Context, files []webFile) error {
	h := p.e.Source.HuggingFace
	fresh := pin{}
	if h != nil {
		fresh = pin{Repo: h.Repo, Revision: h.revision()}
	}
	learned := false
	for i := range files {
		w := &files[i]
		r, err := p.f.Probe(ctx, w.link)
		if err != nil {
			if _, pinned := readPin(p.f.Home, p.e); pinned && p.e.SHA256 == "" && otherFile(err) {
				err = &PinError{Model: p.e.Name, Pin: pinPath(p.f.Home, p.e.Name), Err: err}
			}
			return err
		}
		w.remote, w.bytes = r, r.Bytes
		if w.sha256 == "" && !p.look {
			if r.Hash == (fetch.Hash{}) {
				return fmt.Errorf("%s: the hub tells no SHA-256 of it; add sha256 and bytes to the entry", w.link.URL)
			}
			w.sha256, w.link.Hash, learned = r.Hash.Hex(), r.Hash, true
		}
		if h != nil && r.Commit != "" && revisionRE.MatchString(r.Commit) {
			// The branch may move on while the file is fetched; the commit does not.
			w.link.URL, fresh.Commit = h.address(p.o.Hub, r.Commit, w.inRepo), r.Commit
		}
		w.link.Bytes = r.Bytes
		fresh.Files = append(fresh.Files, pinFile{w.inRepo, w.bytes, w.sha256})
	}
	if !learned || p.look {
		return nil
	}
	return writePin(p.f.Home, p.e.Name, p.stage, fresh)
}

// The header of a model with a large vocabulary has about ten MiB.
const (
	headStep  = 1 << 20
	headLimit = 256 << 20
)

// judge looks at a file by its header.
func (p *puller) judge(ctx context.Context, w webFile) error {
	header, err := p.header(ctx, w)
	if err != nil {
		return err
	}
	if err := p.judgeHeader(header); err != nil {
		return &HeaderError{File: w.link.URL, Err: err}
	}
	return nil
}

// header reads as much of the file's start as its header has.
func (p *puller) header(ctx context.Context, w webFile) (*gguf.File, error) {
	var head []byte
	for want := int64(headStep); ; want *= 4 {
		more, err := p.f.ReadRange(ctx, w.link, w.remote, int64(len(head)), want-int64(len(head)))
		if err != nil {
			return nil, err
		}
		head = append(head, more...)
		header, err := gguf.Parse(head, uint64(w.bytes))
		if errors.Is(err, gguf.ErrHeaderIncomplete) && int64(len(head)) < min(headLimit, w.bytes) {
			continue
		}
		if err != nil {
			return nil, &HeaderError{File: w.link.URL, Err: err}
		}
		return header, nil
	}
}

// Headers reads the headers of a model's files where they are offered, and
// nothing else: the model need not be here, and nothing is kept or pinned. For
// sources that cannot be read in part it is ErrNoHeaders.
func Headers(ctx context.Context, f *fetch.Fetcher, e Entry, o Options) ([]*gguf.File, error) {
	if e.Source.HuggingFace == nil && e.Source.URL == "" {
		return nil, ErrNoHeaders
	}
	p := &puller{f: f, e: e, o: o, look: true}
	files := p.webFiles()
	if err := p.probe(ctx, files); err != nil {
		return nil, fmt.Errorf("headers of model %s: %w", e.Name, err)
	}
	var all []*gguf.File
	for _, w := range files {
		header, err := p.header(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("headers of model %s: %w", e.Name, err)
		}
		all = append(all, header)
	}
	return all, nil
}

// ErrNoHeaders says that a model's header cannot be read before it is pulled.
var ErrNoHeaders = errors.New("its source cannot be read in part")

func (p *puller) judgeHeader(header *gguf.File) error {
	if err := p.e.judge(&header.Metadata); err != nil || p.o.Check == nil {
		return err
	}
	return p.o.Check(p.e, header)
}

// judge compares what a file says of itself with the entry.
func (e Entry) judge(m *gguf.Metadata) error {
	if e.Architecture == "" {
		return nil
	}
	v, _ := m.Get("general.architecture")
	got, err := v.Text()
	if err != nil {
		return fmt.Errorf("its architecture: %w", err)
	}
	if got != e.Architecture {
		return fmt.Errorf("its architecture is %q, the entry says %q", got, e.Architecture)
	}
	return nil
}

// room makes sure that all of what is missing fits.
func (p *puller) room(files []webFile) error {
	var need uint64
	for _, w := range files {
		if !w.here(filepath.Join(folder(p.f.Home, p.e.Name), w.name)) {
			need += p.f.Missing(w.link, w.bytes)
		}
	}
	return checkRoom(p.f.Home, need, p.o.Budget)
}

// fetchAll fetches and publishes one file after the other. The progress is one
// of step "download", of the model's name, over all bytes.
func (p *puller) fetchAll(ctx context.Context, files []webFile) error {
	var total, before, done int64
	for _, w := range files {
		total += w.bytes
	}
	one := *p.f
	one.Progress = func(s fetch.Progress) {
		if s.Step != "download" {
			p.f.Report(s)
			return
		}
		done = max(done, before+s.Done)
		p.f.Report(fetch.Progress{Step: s.Step, Name: p.e.Name, Done: done, Total: total})
	}
	for _, w := range files {
		if err := p.fetchOne(ctx, &one, w); err != nil {
			return err
		}
		before += w.bytes
	}
	return nil
}

func (p *puller) fetchOne(ctx context.Context, f *fetch.Fetcher, w webFile) error {
	file := filepath.Join(folder(f.Home, p.e.Name), path.Base(w.name))
	if w.here(file) {
		return nil
	}
	if ok, err := p.adopt(ctx, file, w.wanted); err != nil || ok {
		return err
	}
	got, err := f.Download(ctx, w.link, w.remote)
	if err != nil {
		return err
	}
	// A note of another file at this place must not speak for this one.
	if err := os.Remove(noteOf(file)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := f.Publish(got, file); err != nil {
		return err
	}
	return p.note(file, w.sha256)
}
