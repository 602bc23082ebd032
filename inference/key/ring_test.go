package key

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/inference"
)

// rig is a ring on a clock of its own, without its goroutine.
type rig struct {
	*Ring
	t    *testing.T
	file string
	at   time.Time
	logs bytes.Buffer
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{t: t, file: o.File, at: start}
	o.Log = slog.New(slog.NewTextHandler(&r.logs, nil))
	ring, err := open(o, func() time.Time { return r.at })
	if err != nil {
		t.Fatal(err)
	}
	r.Ring = ring
	return r
}

// put replaces the keys of a file and returns the secrets by name.
func put(t *testing.T, file string, keys ...Key) map[string]string {
	t.Helper()
	secrets := map[string]string{}
	err := Change(t.Context(), file, nil, func([]Key) ([]Key, error) {
		for i := range keys {
			secret, hash := New()
			secrets[keys[i].Name], keys[i].Hash = secret, hash
		}
		return keys, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

func keyFile(t *testing.T) string { return filepath.Join(t.TempDir(), FileName) }

func (r *rig) identify(secret string) Key {
	r.t.Helper()
	k, err := r.Identify(secret)
	if err != nil {
		r.t.Fatal(err)
	}
	return k
}

// reason of a refusal; "" for none.
func reason(t *testing.T, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	var no *Refusal
	if !errors.As(err, &no) {
		t.Fatalf("%v is no refusal", err)
	}
	return no.Reason
}

func TestIdentify(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a"}, Key{Name: "off", Disabled: true}, Key{Name: "old", Expires: start}, Key{Name: "boss", Admin: true})
	r := newRig(t, Options{File: file, Unnamed: []string{"plain"}})
	if !r.Required() {
		t.Error("no key is required")
	}
	for _, tc := range []struct {
		secret, name string
		admin        bool
		want         Reason
	}{
		{secrets["a"], "a", false, ""},
		{secrets["boss"], "boss", true, ""},
		{"plain", "", true, ""},
		{secrets["off"], "", false, ReasonDisabled},
		{secrets["old"], "", false, ReasonExpired},
		{"", "", false, ReasonMissing},
		{"wrong", "", false, ReasonUnknown},
		{secrets["a"] + "x", "", false, ReasonUnknown},
		{hashA, "", false, ReasonUnknown},
	} {
		k, err := r.Identify(tc.secret)
		if got := reason(t, err); got != tc.want || k.Name != tc.name || k.Admin != tc.admin {
			t.Errorf("%q: %+v, %v", tc.secret, k, err)
		}
		if err != nil && (err.(*Refusal).Status() != 401 || tc.secret != "" && strings.Contains(err.Error(), tc.secret)) {
			t.Errorf("%q: %d, %v", tc.secret, err.(*Refusal).Status(), err)
		}
	}
	if u := r.usageOf("off"); u.total.Refused != 1 {
		t.Errorf("%+v", u.total)
	}
}

func (r *rig) usageOf(name string) account {
	for _, k := range r.keys {
		if k.Name == name {
			return r.meter(k).live
		}
	}
	return account{}
}

// Without keys everybody may do everything; from the first key on nobody without
// one, also when the last is gone again.
func TestDoorClosesAndStaysClosed(t *testing.T) {
	file := keyFile(t)
	r := newRig(t, Options{File: file})
	if r.Required() {
		t.Error("a key is required, and there is none")
	}
	anybody := r.identify("anything")
	if v, err := r.Admit(anybody, Ask{Model: "m", Priority: inference.PriorityMerge, Tokens: 1 << 40}); err != nil || v.Priority() != inference.PriorityMerge {
		t.Errorf("%v, %v", v, err)
	} else {
		v.Settle(inference.Usage{PromptTokens: 1})
	}
	r.look()
	secrets := put(t, file, Key{Name: "a"})
	r.look()
	if _, err := r.Identify("anything"); reason(t, err) != ReasonUnknown {
		t.Errorf("%v", err)
	}
	a := r.identify(secrets["a"])
	put(t, file)
	r.look()
	if _, err := r.Identify(secrets["a"]); reason(t, err) != ReasonUnknown || !r.Required() {
		t.Errorf("%v", err)
	}
	if _, err := r.Admit(a, Ask{Model: "m"}); reason(t, err) != ReasonUnknown {
		t.Errorf("a removed key goes on: %v", err)
	}
}

func TestGivenFile(t *testing.T) {
	file := keyFile(t)
	if _, err := Open(Options{File: file, Given: true}); err == nil || !strings.Contains(err.Error(), "dure key add NAME --keys "+file) {
		t.Errorf("%v", err)
	}
	put(t, file)
	r := newRig(t, Options{File: file, Given: true})
	if _, err := r.Identify(""); reason(t, err) != ReasonMissing {
		t.Errorf("%v", err)
	}
}

func TestAdmit(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file,
		Key{Name: "models", Models: []string{"qwen*", "smol"}},
		Key{Name: "cap", Priority: inference.PriorityWorker},
		Key{Name: "minute", Limits: Limits{RequestsPerMinute: 2}},
		Key{Name: "tokens", Limits: Limits{TokensPerDay: 1000}},
		Key{Name: "single", Limits: Limits{Concurrency: 1}},
	)
	r := newRig(t, Options{File: file})
	for _, tc := range []struct {
		key  string
		ask  Ask
		want Reason
		code int
		says string
	}{
		{"models", Ask{Model: "qwen3"}, "", 0, ""},
		{"models", Ask{Model: "gemma"}, ReasonModel, 403, "qwen*, smol"},
		{"models", Ask{Model: ""}, ReasonModel, 403, ""},
		{"cap", Ask{Model: "x"}, "", 0, ""},
		{"cap", Ask{Model: "x", Priority: inference.PriorityInteractive}, ReasonPriority, 403, `"worker" at most`},
		{"minute", Ask{}, "", 0, ""},
		{"minute", Ask{}, "", 0, ""},
		{"minute", Ask{}, ReasonLimit, 429, "2 requests a minute, and has no room for this one: try again in 1m1s"},
		{"tokens", Ask{Tokens: 1001}, ReasonTooLarge, 403, "1000 tokens in 24 hours, and the request alone may take 1001"},
		{"tokens", Ask{Tokens: 1000}, "", 0, ""},
		{"single", Ask{}, "", 0, ""},
		{"single", Ask{}, ReasonLimit, 429, "1 request at once: try again when one has ended"},
	} {
		_, err := r.Admit(r.identify(secrets[tc.key]), tc.ask)
		if got := reason(t, err); got != tc.want {
			t.Errorf("%s %+v: %v", tc.key, tc.ask, err)
			continue
		}
		if err != nil && (err.(*Refusal).Status() != tc.code || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %d %v", tc.key, err.(*Refusal).Status(), err)
		}
	}
	if v, err := r.Admit(r.identify(secrets["cap"]), Ask{Model: "x"}); err != nil || v.Priority() != inference.PriorityWorker {
		t.Errorf("no priority asked: %v, %v", v, err)
	}
	if got := r.usageOf("models").total; got != (Counts{Requests: 1, Refused: 2}) {
		t.Errorf("%+v", got)
	}
}

// A key that is disabled or limited while it is in use is so at once; what runs
// goes on.
func TestChangedWhileInUse(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a"})
	r := newRig(t, Options{File: file})
	a := r.identify(secrets["a"])
	v, err := r.Admit(a, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		change func(*Key)
		want   Reason
	}{
		{func(k *Key) { k.RequestsPerMinute = 1 }, ReasonLimit}, // the one before counts
		{func(k *Key) { k.Disabled = true }, ReasonDisabled},
		{func(k *Key) { *k = Key{Name: "a", Hash: k.Hash} }, ""},
	} {
		err := Change(t.Context(), file, nil, func(keys []Key) ([]Key, error) { tc.change(&keys[0]); return keys, nil })
		if err != nil {
			t.Fatal(err)
		}
		r.look()
		if _, err := r.Admit(a, Ask{}); reason(t, err) != tc.want {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
	v.Settle(inference.Usage{PromptTokens: 5, CachedTokens: 3, CompletionTokens: 2})
	v.Settle(inference.Usage{PromptTokens: 5})
	if got := r.usageOf("a").total; got != (Counts{2, 5, 3, 2, 2}) {
		t.Errorf("%+v", got)
	}
}

func TestBrokenFileKeepsTheKeys(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a"})
	r := newRig(t, Options{File: file})
	for _, tc := range []struct {
		name, says string
		do         func() error
	}{
		{"broken", "line 2", func() error { return os.WriteFile(file, []byte("{\n\"keys\":x}"), 0o600) }},
		{"of a later dure", "later dure", func() error { return os.WriteFile(file, []byte(`{"format":7}`), 0o600) }},
		{"gone", "no such file", func() error { return os.Remove(file) }},
	} {
		if err := tc.do(); err != nil {
			t.Fatal(err)
		}
		r.logs.Reset()
		r.look()
		r.look()
		if said := r.logs.String(); strings.Count(said, "the keys of before stay in force") != 1 || !strings.Contains(said, tc.says) {
			t.Errorf("%s: it says %q", tc.name, said)
		}
		r.identify(secrets["a"])
		if err := r.Reload(); err == nil {
			t.Errorf("%s: reload says nothing", tc.name)
		}
	}
	fresh := put(t, file, Key{Name: "b"})
	r.look()
	r.identify(fresh["b"])
}

func TestExposedFileIsSaid(t *testing.T) {
	file := keyFile(t)
	put(t, file, Key{Name: "a"})
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Options{File: file})
	r.look()
	if said := r.logs.String(); strings.Count(said, "chmod 600") != 1 {
		t.Errorf("%q", said)
	}
	for mode, times := range map[os.FileMode]int{0o600: 0, 0o604: 1} {
		r.logs.Reset()
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		r.look()
		r.look()
		if said := r.logs.String(); strings.Count(said, "chmod 600") != times {
			t.Errorf("%o: %q", mode, said)
		}
	}
}
