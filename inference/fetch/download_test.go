package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func wantFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s holds %d bytes, %v, want the %d of the file", path, len(got), err, len(data))
	}
}

func TestDownload(t *testing.T) {
	data := randomBytes(1<<20 + 77)
	h := newHub(t, data)
	var seen []Progress
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web(), Progress: func(p Progress) { seen = append(seen, p) }}
	l := h.link()
	if got := f.Missing(l, l.Bytes); got != uint64(len(data)) {
		t.Errorf("room is %d", got)
	}
	path, err := pull(f, l)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	if h.bytes() != int64(len(data))+1 { // the probe's byte
		t.Errorf("served %d bytes of %d", h.bytes(), len(data))
	}
	var done int64
	for _, p := range seen {
		if p.Step != "download" {
			continue
		}
		if p.Done < done || p.Total != l.Bytes || p.Name != "m.gguf" {
			t.Errorf("progress %+v after %d", p, done)
		}
		done = p.Done
	}
	if done != l.Bytes {
		t.Errorf("last progress is %d of %d", done, l.Bytes)
	}
	if left := leftovers(t, f.Home, "downloads"); !slices.Equal(left, []string{"m.gguf"}) {
		t.Errorf("downloads holds %v", left)
	}
	if again, err := pull(f, l); err != nil || again != path || h.bytes() != int64(len(data))+2 {
		t.Errorf("again: %s, %v, served %d", again, err, h.bytes())
	}
	dst := filepath.Join(f.Home, "models", "m", "m.gguf")
	if err := f.Publish(path, dst); err != nil {
		t.Fatal(err)
	}
	wantFile(t, dst, data)
}

// Whatever is dropped when, the file is whole, and what came is not asked for
// again.
func TestDownloadProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := randomBytes(rapid.IntRange(1, 300_000).Draw(rt, "bytes"))
		drops := rapid.SliceOfN(rapid.Int64Range(1, 60_000), 0, 12).Draw(rt, "drops")
		h := &hub{data: data, etag: `"one"`}
		h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n < 2 || n-2 >= len(drops) {
				return false
			}
			h.cut(w, r, drops[n-2])
			return true
		}
		h.Server = httptest.NewServer(h)
		defer h.Close()
		dir, err := os.MkdirTemp("", "download")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		web := new(waits).web()
		web.Segment = rapid.Int64Range(1000, 100_000).Draw(rt, "segment")
		web.Connections = rapid.IntRange(1, 5).Draw(rt, "connections")
		web.Attempts = 20
		path, err := pull(&Fetcher{Home: dir, Web: web}, h.link())
		if err != nil {
			rt.Fatal(err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, data) {
			rt.Fatalf("%d bytes, other than the %d", len(got), len(data))
		}
	})
}

func TestDropsGoOn(t *testing.T) {
	data := randomBytes(128 << 10)
	h := newHub(t, data)
	h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 2 {
			h.cut(w, r, 5000)
		}
		return n == 2
	}
	w := new(waits)
	f := &Fetcher{Home: t.TempDir(), Web: w.web()}
	f.Web.Connections = 1
	path, err := pull(f, h.link())
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	if got := h.requests(); len(got) != 4 || got[2] != "bytes=5000-65535" || len(w.all) != 1 {
		t.Errorf("asked for %v, waited %v", got, w.all)
	}
}

func TestStall(t *testing.T) {
	data := randomBytes(200 << 10)
	h := newHub(t, data)
	h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 1: // before the head
			<-r.Context().Done()
		case 3: // in the middle
			w.Header().Set("ETag", h.etag)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-65535/%d", len(data)))
			w.Header().Set("Content-Length", "65536")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			return false
		}
		return true
	}
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	f.Web.Connections, f.Web.Stall = 1, 300*time.Millisecond
	path, err := pull(f, h.link())
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	if got := h.requests(); len(got) < 4 || !slices.Contains(got, "bytes=1000-65535") {
		t.Errorf("asked for %v", got)
	}
	h.over = func(_ int, _ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	f.Web.Stall, f.Web.Attempts = 20*time.Millisecond, 2
	_, err = pull(f, h.link())
	says(t, err, "gave up after 2 attempts", "nothing came for too long")
}

func TestBusyServer(t *testing.T) {
	data := randomBytes(100 << 10)
	h := newHub(t, data)
	h.over = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		switch n {
		case 1, 3:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case 4:
			w.WriteHeader(http.StatusBadGateway)
		default:
			return false
		}
		return true
	}
	w := new(waits)
	f := &Fetcher{Home: t.TempDir(), Web: w.web()}
	f.Web.Connections = 1
	path, err := pull(f, h.link())
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	if len(w.all) != 3 || w.all[0] < 7*time.Second || w.all[1] < 7*time.Second || w.all[2] < time.Second || w.all[2] > 7*time.Second {
		t.Errorf("waited %v", w.all)
	}
	h.over = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "86400")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	w.all = nil
	_, err = f.Probe(ctx, h.link())
	if says(t, err, "HTTP 503", "come back in 24h"); len(w.all) != 0 {
		t.Errorf("waited %v", w.all)
	}
}

// A server that fails for good: the error says so, what came stays for later.
func TestGivesUp(t *testing.T) {
	data := randomBytes(256 << 10)
	h := newHub(t, data)
	h.over = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n > 2 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return n > 2
	}
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	f.Web.Connections, f.Web.Attempts = 1, 4
	_, err := pull(f, h.link())
	says(t, err, "gave up after 4 attempts", "HTTP 500")
	if as[*WebError](t, err).Failure != FailureNetwork || len(h.requests()) != 6 {
		t.Errorf("asked %v", h.requests())
	}
	h.over, h.served = nil, 0
	path, err := pull(f, h.link())
	if err != nil {
		t.Fatal(err)
	}
	if wantFile(t, path, data); h.bytes() != 192<<10+1 {
		t.Errorf("served %d bytes, want what was missing", h.bytes())
	}
}

// The file changes while it is fetched, or between two attempts.
func TestChanged(t *testing.T) {
	before, after := randomBytes(256<<10), randomBytes(300<<10)
	for _, late := range []bool{false, true} {
		h := newHub(t, before)
		var log logs
		f := &Fetcher{Home: t.TempDir(), Web: new(waits).web(), Log: log.logger()}
		f.Web.Connections, f.Web.Attempts = 1, 1
		l := Link{File: "m.gguf", URL: h.URL, Hash: sha256Of(after)}
		h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 4 && late {
				w.WriteHeader(http.StatusBadGateway) // ends the first attempt
				return true
			}
			if n == 4 {
				h.set(after, `"two"`)
			}
			return false
		}
		path, err := pull(f, l)
		if late {
			says(t, err, "HTTP 502")
			h.set(after, `"two"`)
			path, err = pull(f, l)
		}
		if err != nil {
			t.Fatal(err)
		}
		wantFile(t, path, after)
		if !log.contains("beginning again") {
			t.Error("the new beginning was not told")
		}
	}
	h := newHub(t, before) // the pin is of the old one
	h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 4 {
			h.set(after, `"two"`)
		}
		return false
	}
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	_, err := pull(f, h.link())
	if e := as[*SizeError](t, err); e.Got != 300<<10 {
		t.Errorf("%+v", e)
	}
	h = newHub(t, before) // it never stays the same
	h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n%2 == 0 {
			h.set(before, fmt.Sprintf(`"%d"`, n))
		}
		return false
	}
	_, err = pull(f, h.link())
	says(t, err, "changes again and again")
}

func TestRedirects(t *testing.T) {
	data := randomBytes(200 << 10)
	store := newHub(t, data)
	front := newHub(t, nil)
	signature := "?sig=secret1"
	front.over = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/file" { // a renamed repository: the same server, the token goes along
			w.Header().Set("Location", "/renamed")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}
		w.Header().Set("X-Linked-Etag", `"`+strings.TrimPrefix(sha256Of(data).String(), "sha256:")+`"`)
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(data)))
		w.Header().Set("X-Repo-Commit", "c0ffee")
		w.Header().Set("Location", store.URL+"/blob"+signature)
		w.WriteHeader(http.StatusFound)
		return true
	}
	store.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 4 {
			signature = "?sig=secret2"
		}
		if "?"+r.URL.RawQuery != signature {
			w.WriteHeader(http.StatusForbidden) // it ran out
			return true
		}
		return false
	}
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	f.Web.Connections = 1
	l := Link{File: "m.gguf", URL: front.URL + "/file", Token: "hf_token"}
	r, err := f.Probe(ctx, l)
	if err != nil || r != (Remote{Bytes: int64(len(data)), Hash: sha256Of(data), Commit: "c0ffee", ETag: `"one"`, Ranges: true}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := f.Probe(ctx, Link{File: "m", URL: l.URL, Token: l.Token, Hash: sha256Of(nil)}); as[*HashError](t, err).Got != r.Hash.String() {
		t.Error(err) // the hub itself says that it has another file
	}
	path, err := f.Download(ctx, l, r)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	for _, token := range store.tokens {
		if token != "" {
			t.Errorf("the store was told %q", token)
		}
	}
	for _, token := range front.tokens {
		if token != "Bearer hf_token" {
			t.Errorf("the hub was told %q", token)
		}
	}
	if len(front.tokens) != 8 {
		t.Errorf("the hub was asked %d times, want four: two probes, first range and after the signature ran out", len(front.tokens)/2)
	}
	store.over = func(_ int, w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }
	f.Web.Attempts = 1
	_, err = f.Probe(ctx, l)
	if says(t, err, store.URL+"/blob"); strings.Contains(err.Error(), "secret") {
		t.Errorf("a signature is told: %v", err)
	}
}

func TestRedirectsRefused(t *testing.T) {
	h := newHub(t, nil)
	var to string
	h.over = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
		return true
	}
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	for where, want := range map[string]string{"/file": "without end", "http://example.invalid/x": "is not https", "file:///etc/passwd": "redirects to where",
		"https://user:pass@example.invalid/": "without user and password", "http://%zz": "redirects to where"} {
		to = where
		_, err := f.Probe(ctx, Link{File: "m", URL: h.URL})
		says(t, err, want)
	}
	for _, l := range []Link{{URL: "http://example.invalid/x"}, {URL: "ftp://127.0.0.1/x"}, {URL: "https://u:p@127.0.0.1/x"}, {URL: "x.gguf"}, {URL: "https://%zz"}} {
		_, err := f.Probe(ctx, l)
		if as[*WebError](t, err); strings.Contains(err.Error(), "u:p") {
			t.Errorf("%v", err)
		}
	}
}

func TestRefusals(t *testing.T) {
	h := newHub(t, nil)
	var status int
	var code string
	h.over = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("X-Error-Code", code)
		w.WriteHeader(status)
		return true
	}
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	for _, c := range []struct {
		status int
		code   string
		says   string
	}{{401, "", "HF_TOKEN"}, {403, "GatedRepo", "accepted its terms"}, {404, "EntryNotFound", "check repository"}, {400, "", "HTTP 400"}} {
		status, code, h.asked = c.status, c.code, nil
		_, err := f.Probe(ctx, Link{File: "m", URL: h.URL, Token: "t"})
		if says(t, err, c.says); len(h.asked) != 1 {
			t.Errorf("%d: asked %d times", c.status, len(h.asked))
		}
	}
}

func TestWrongLength(t *testing.T) {
	data := randomBytes(100 << 10)
	h := newHub(t, data)
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	f.Web.Connections = 1
	l := h.link()
	l.Bytes++
	_, err := f.Probe(ctx, l)
	if e := as[*SizeError](t, err); e.Want != l.Bytes || e.Got != l.Bytes-1 {
		t.Errorf("%+v", e)
	}
	for name, header := range map[string]string{"another range": "bytes 5-65535/102400", "more than asked": "bytes 0-99999/102400", "nonsense": "bytes x"} {
		h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "bytes=0-0" {
				return false
			}
			w.Header().Set("Content-Range", header)
			w.WriteHeader(http.StatusPartialContent)
			return true
		}
		if path, err := pull(f, h.link()); err == nil {
			t.Errorf("%s: %s", name, path)
		}
	}
	h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(data)
		return true
	}
	_, err = f.Probe(ctx, h.link())
	says(t, err, "compressed")
}

func TestCorruptBytes(t *testing.T) {
	data := randomBytes(200 << 10)
	bad := slices.Clone(data)
	bad[150_000] ^= 1
	h := newHub(t, bad)
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	l := linkTo(h.URL, data)
	_, err := pull(f, l)
	if e := as[*HashError](t, err); e.Want != l.Hash.String() {
		t.Errorf("%+v", e)
	}
	if left := leftovers(t, f.Home, "downloads"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	h.set(data, `"two"`)
	path, err := pull(f, l)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	if _, err := f.Download(ctx, Link{File: "x"}, Remote{Bytes: 1}); err == nil {
		t.Error("a file without any hash was fetched")
	}
	if err := os.WriteFile(path, bad, 0o644); err != nil { // on the disk, after it was verified
		t.Fatal(err)
	}
	if path, err = pull(f, l); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
}

// A server that only sends the whole file.
func TestNoRanges(t *testing.T) {
	data := randomBytes(300 << 10)
	h := newHub(t, data)
	h.noRanges = true
	h.over = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 2 {
			h.cut(w, r, 100<<10)
		}
		return n == 2
	}
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	path, err := pull(f, h.link())
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, data)
	if head, err := f.ReadRange(ctx, h.link(), Remote{Bytes: int64(len(data))}, 1000, 10); err != nil || !bytes.Equal(head, data[1000:1010]) {
		t.Errorf("%x, %v", head, err)
	}
	f = &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	f.Web.Attempts = 3
	h.over = func(n int, w http.ResponseWriter, r *http.Request) bool { // not for ever
		if r.Header.Get("Range") == "" {
			h.cut(w, r, 100<<10)
		}
		return r.Header.Get("Range") == ""
	}
	h.asked = nil
	_, err = pull(f, h.link())
	if says(t, err, "gave up after 3 attempts"); len(h.requests()) != 4 {
		t.Errorf("asked %d times", len(h.requests()))
	}
}

// A host that is not there is told at once, not after minutes.
func TestNoHost(t *testing.T) {
	w := new(waits)
	f := &Fetcher{Home: t.TempDir(), Web: w.web()}
	f.Web.Transport = noHost{}
	_, err := f.Probe(ctx, Link{File: "m", URL: "https://example.invalid/m"})
	if says(t, err, "no host of this name", "mirror"); len(w.all) != 0 {
		t.Errorf("waited %v", w.all)
	}
}

type noHost struct{}

func (noHost) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
}

func TestReadRange(t *testing.T) {
	data := randomBytes(1000)
	h := newHub(t, data)
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	r, err := f.Probe(ctx, h.link())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]int64{{0, 10, 10}, {5, 100, 105}, {900, 500, 1000}, {1000, 5, 1000}, {2000, 1, 2000}} {
		got, err := f.ReadRange(ctx, h.link(), r, c[0], c[1])
		if err != nil || c[0] < 1000 && !bytes.Equal(got, data[c[0]:c[2]]) || c[0] >= 1000 && len(got) > 0 {
			t.Errorf("%v: %d bytes, %v", c, len(got), err)
		}
	}
	if left := leftovers(t, f.Home, "."); len(left) > 0 {
		t.Errorf("wrote %v", left)
	}
}

// A full disk is said, whether it is seen before or hit by a write.
func TestNoRoom(t *testing.T) {
	h := newHub(t, randomBytes(1000))
	f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
	_, err := f.Download(ctx, h.link(), Remote{Bytes: 1 << 60, Ranges: true})
	if e := as[*DiskFullError](t, err); e.Need != 1<<60 || len(h.requests()) != 0 {
		t.Errorf("%+v after %v", e, h.requests())
	}
	l := h.link()
	r, err := f.Probe(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	tr := &transfer{f: f, link: l, remote: r, file: full, part: newPart(r, l.Hash, 1<<20), from: l.URL}
	if err := tr.segment(ctx, 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error is %v", err)
	}
}
