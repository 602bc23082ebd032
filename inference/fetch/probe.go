package fetch

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Probe asks the server what it has, without fetching it: one request for the
// first byte. Errors are *WebError, and *SizeError or *HashError where the
// server itself says that its file is not the link's.
func (f *Fetcher) Probe(ctx context.Context, l Link) (Remote, error) {
	return f.impatient().probe(ctx, l, firstContact)
}

// impatient is f for what somebody waits for.
func (f *Fetcher) impatient() *Fetcher {
	quick := *f
	quick.Web = f.Web.impatient()
	return &quick
}

// probe passes errors of the connection through judge.
func (f *Fetcher) probe(ctx context.Context, l Link, judge func(error) error) (Remote, error) {
	var r Remote
	err := f.again(ctx, l.File, func() (bool, error) {
		a, err := f.Web.get(ctx, l, l.URL, wants{to: 1})
		if err != nil {
			return false, judge(err)
		}
		defer a.body.Close()
		r, err = a.remote()
		return false, err
	})
	if err == nil {
		err = l.agrees(r)
	}
	if err != nil {
		return Remote{}, fmt.Errorf("ask for %s: %w", l.File, err)
	}
	return r, nil
}

// remote reads the answer to a request for the first byte.
func (a *answer) remote() (Remote, error) {
	bad := func(reason string) (Remote, error) {
		return Remote{}, &WebError{URL: bare(a.at), Status: a.StatusCode, Reason: reason, Failure: FailureOther}
	}
	if e := a.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return bad("it sends the file compressed, although the plain one was asked for")
	}
	r := Remote{ETag: strong(a.Header.Get("ETag")), Commit: a.hub.Get("X-Repo-Commit"), Bytes: a.ContentLength}
	if a.StatusCode == http.StatusPartialContent {
		from, to, total, err := contentRange(a.Header.Get("Content-Range"))
		if err != nil || from != 0 || to != 1 || total == 0 {
			return bad("it answers a request for the first byte with the range " + printable(a.Header.Get("Content-Range")))
		}
		r.Bytes, r.Ranges = total, true
	}
	if size, err := strconv.ParseInt(a.hub.Get("X-Linked-Size"), 10, 64); err == nil && size > 0 {
		if r.Bytes > 0 && r.Bytes != size {
			return bad(fmt.Sprintf("it has %d bytes, the hub says %d", r.Bytes, size))
		}
		r.Bytes = size
	}
	if r.Bytes <= 0 {
		return bad("it does not tell the size of the file")
	}
	// Large files have their SHA-256 there, small ones another hash.
	if tag := strings.Trim(a.hub.Get("X-Linked-Etag"), `"`); len(tag) == 64 {
		if sum, err := hex.DecodeString(tag); err == nil {
			r.Hash = Hash{algorithm: "sha256", sum: string(sum)}
		}
	}
	return r, nil
}

// agrees compares what is pinned with what the server says it has.
func (l Link) agrees(r Remote) error {
	if l.Bytes != 0 && l.Bytes != r.Bytes {
		return &SizeError{URL: l.File, Want: l.Bytes, Got: r.Bytes}
	}
	if l.Hash != (Hash{}) && r.Hash != (Hash{}) && l.Hash.algorithm == r.Hash.algorithm && l.Hash != r.Hash {
		return &HashError{Path: l.File + " on the server", Want: l.Hash.String(), Got: r.Hash.String()}
	}
	return nil
}

// ReadRange returns the n bytes of the file from offset from, fewer where the
// file ends. It is for headers: nothing of it is kept.
func (f *Fetcher) ReadRange(ctx context.Context, l Link, r Remote, from, n int64) ([]byte, error) {
	to := min(from+n, r.Bytes)
	if from < 0 || from >= to {
		return nil, nil
	}
	f = f.impatient()
	var data []byte
	err := f.again(ctx, l.File, func() (bool, error) {
		a, err := f.Web.get(ctx, l, l.URL, wants{from: from, to: to, ifRange: r.ETag})
		if err != nil {
			return false, firstContact(err)
		}
		defer a.body.Close()
		if a.StatusCode == http.StatusOK { // no ranges: the bytes before are read past
			if _, err := io.CopyN(io.Discard, a.body, from); err != nil {
				return false, networkError(a.at, err)
			}
		} else if err := a.is(from, to, r); err != nil {
			return false, err
		}
		data = make([]byte, to-from)
		if _, err := io.ReadFull(a.body, data); err != nil {
			return false, networkError(a.at, err)
		}
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the start of %s: %w", l.File, err)
	}
	return data, nil
}

// is checks that a partial answer is the range that was asked for, of the file
// that was probed.
func (a *answer) is(from, to int64, r Remote) error {
	first, end, total, err := contentRange(a.Header.Get("Content-Range"))
	switch tag := strong(a.Header.Get("ETag")); {
	case err != nil:
		return &WebError{URL: bare(a.at), Status: a.StatusCode, Reason: err.Error(), Failure: FailureOther}
	case total != 0 && total != r.Bytes, tag != "" && r.ETag != "" && tag != r.ETag:
		return errChanged
	case first != from || end != to:
		return &WebError{URL: bare(a.at), Status: a.StatusCode, Failure: FailureOther,
			Reason: fmt.Sprintf("it sends the bytes %d to %d where %d to %d were asked for", first, end, from, to)}
	}
	return nil
}
