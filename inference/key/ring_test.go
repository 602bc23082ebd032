package key

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
	"dure/inference/fetch"
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

// use makes a request of so many tokens, from beginning to end.
func (r *rig) use(secret string, prompt, answer int) error {
	v, err := r.Admit(r.identify(secret), Ask{Model: "m", Tokens: int64(prompt + answer)})
	if err == nil {
		v.Settle(inference.Usage{PromptTokens: prompt, CompletionTokens: answer})
	}
	return err
}

// A restart neither forgets usage nor opens limits.
func TestUsageOverRestarts(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a", Limits: Limits{RequestsPerDay: 3, TokensPerDay: 100}})
	for i := range 3 {
		r := newRig(t, Options{File: file})
		r.at = start.Add(time.Duration(i) * time.Hour)
		if err := r.use(secrets["a"], 20, 10); err != nil {
			t.Fatal(err)
		}
		close(r.stopped)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil { // once more does nothing
			t.Fatal(err)
		}
	}
	r := newRig(t, Options{File: file})
	r.at = start.Add(20 * time.Hour)
	var no *Refusal
	if err := r.use(secrets["a"], 1, 1); !errors.As(err, &no) || no.Limit != RequestsPerDay {
		t.Fatalf("%v", err)
	}
	r.at = r.at.Add(no.RetryAfter)
	if err := r.use(secrets["a"], 1, 1); err != nil {
		t.Errorf("at %s: %v", no.RetryAfter, err)
	}
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	usage, err := ReadUsage(file)
	if err != nil {
		t.Fatal(err)
	}
	u := usage[r.keys[0].ID()]
	if u.Total != (Counts{4, 61, 0, 31, 1}) || !u.Last.Equal(r.at) || u.Days["2026-03-01"] != (Counts{3, 60, 0, 30, 0}) || u.Days["2026-03-02"] != (Counts{1, 1, 0, 1, 1}) {
		t.Errorf("%+v", u)
	}
	if info, err := os.Stat(UsageFile(file)); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Two servers on one file count together, and lose nothing of each other's.
func TestTwoServers(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a", Limits: Limits{RequestsPerMinute: 5}})
	one, two := newRig(t, Options{File: file}), newRig(t, Options{File: file})
	for i := range 5 {
		r := []*rig{one, two}[i%2]
		if err := r.use(secrets["a"], 10, i); err != nil {
			t.Fatal(err)
		}
		if err := r.flush(); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []*rig{one, two} { // each learns of the other when it writes
		r.refuse(r.keys[0])
		if err := r.flush(); err != nil {
			t.Fatal(err)
		}
		if err := r.use(secrets["a"], 1, 1); reason(t, err) != ReasonLimit {
			t.Errorf("%v", err)
		}
	}
	usage, err := ReadUsage(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := usage[one.keys[0].ID()].Total; got != (Counts{5, 50, 0, 10, 2}) {
		t.Errorf("%+v", got)
	}
}

// Usage that cannot be written is counted on, said once, and written later.
func TestUsageThatCannotBeWritten(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a", Limits: Limits{RequestsPerDay: 3}})
	r := newRig(t, Options{File: file})
	if err := r.use(secrets["a"], 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(UsageFile(file))
	if err != nil {
		t.Fatal(err)
	}
	later := `{"format":9}`
	write(t, UsageFile(file), later)
	for range 2 {
		if err := r.use(secrets["a"], 1, 1); err != nil {
			t.Fatal(err)
		}
		r.tell(r.flush())
	}
	if said := r.logs.String(); strings.Count(said, "later dure") != 1 {
		t.Errorf("%q", said)
	}
	if data, _ := os.ReadFile(UsageFile(file)); string(data) != later {
		t.Errorf("it was written over: %s", data)
	}
	if err := r.use(secrets["a"], 1, 1); reason(t, err) != ReasonLimit {
		t.Errorf("%v", err)
	}
	write(t, UsageFile(file), string(before))
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	usage, err := ReadUsage(file)
	if got := usage[r.keys[0].ID()].Total; err != nil || got != (Counts{3, 3, 0, 3, 1}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBrokenUsageIsSetAside(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a"})
	usage := UsageFile(file)
	write(t, usage, "{")
	r := newRig(t, Options{File: file})
	if said := r.logs.String(); !strings.Contains(said, "set aside") {
		t.Errorf("%q", said)
	}
	for i, broken := range []string{"[", `{"accounts":{"x":{"windows":{"tokens_per_day":[[1]]}}}}`} {
		if err := r.use(secrets["a"], 1, 1); err != nil {
			t.Fatal(err)
		}
		write(t, usage, broken) // while the server runs: it still knows all
		if err := r.flush(); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(usage + ".unused"); err != nil || string(data) != broken {
			t.Errorf("%s, %v", data, err)
		}
		got, err := ReadUsage(file)
		if err != nil || got[r.keys[0].ID()].Total.Requests != int64(i+1) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	write(t, usage, `{"format":2}`)
	var newer *fetch.NewerError
	if _, err := open(Options{File: file}, time.Now); !errors.As(err, &newer) {
		t.Errorf("%v", err)
	}
}

// The account of a key that is gone is kept as long as its days are; a new key of
// its name begins with nothing; the file does not grow without end.
func TestAccountsOfKeysThatAreGone(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a", Limits: Limits{RequestsPerDay: 1}})
	r := newRig(t, Options{File: file})
	if err := r.use(secrets["a"], 1, 1); err != nil {
		t.Fatal(err)
	}
	old := r.keys[0].ID()
	again := put(t, file, Key{Name: "a", Limits: Limits{RequestsPerDay: 1}})
	r.look()
	if err := r.use(again["a"], 2, 2); err != nil {
		t.Errorf("the new key pays for the old one: %v", err)
	}
	for _, tc := range []struct {
		days int
		kept bool
	}{{KeepDays, true}, {KeepDays + 1, false}} {
		r.at = start.AddDate(0, 0, tc.days)
		r.refuse(r.keys[0])
		if err := r.flush(); err != nil {
			t.Fatal(err)
		}
		usage, err := ReadUsage(file)
		if _, kept := usage[old]; err != nil || kept != tc.kept || usage[r.keys[0].ID()].Total.Requests != 1 {
			t.Errorf("after %d days: %+v, %v", tc.days, usage, err)
		}
	}
	if len(r.meters) != 1 {
		t.Errorf("%d meters", len(r.meters))
	}
	all := map[string]account{}
	for i := range maxAccounts + 5 {
		all[fmt.Sprint(i)] = account{last: start.Add(time.Duration(i) * time.Second)}
	}
	trim(all, map[string]bool{"0": true}, start)
	if _, kept := all["0"]; len(all) != maxAccounts || !kept {
		t.Errorf("%d accounts", len(all))
	}
	if _, kept := all["1"]; kept {
		t.Error("another one than the oldest was forgotten")
	}
}

// A clock that was set ahead and back leaves a file that can be read, and limits
// that hold.
func TestClockSetBack(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a", Limits: Limits{TokensPerMinute: 10}})
	r := newRig(t, Options{File: file})
	flush := func() {
		if err := r.flush(); err != nil {
			t.Fatal(err)
		}
	}
	r.at = start.Add(time.Hour)
	v, err := r.Admit(r.identify(secrets["a"]), Ask{Tokens: 10})
	if err != nil {
		t.Fatal(err)
	}
	flush()
	r.at = start
	r.refuse(r.keys[0])
	flush()
	r.at = start.Add(5 * time.Second)
	v.Settle(inference.Usage{PromptTokens: 3})
	flush()
	if _, err := ReadUsage(file); err != nil {
		t.Error(err)
	}
	r.at = start.Add(62 * time.Second)
	if err := r.use(secrets["a"], 5, 5); err != nil {
		t.Errorf("after the window: %v", err)
	}
	if err := r.use(secrets["a"], 1, 1); reason(t, err) != ReasonLimit {
		t.Errorf("more than the limit: %v", err)
	}
}

// Requests, changes and writing at once: nothing is lost, no limit passed.
func TestManyAtOnce(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a", Limits: Limits{RequestsPerDay: 300, Concurrency: 4}}, Key{Name: "b"})
	r := newRig(t, Options{File: file})
	var wg, side sync.WaitGroup
	done := make(chan struct{})
	side.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				r.look()
				if err := r.flush(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	var mu sync.Mutex
	admitted := 0
	for range 8 {
		wg.Go(func() {
			for range 60 {
				for _, name := range []string{"a", "b"} {
					k, err := r.Identify(secrets[name])
					if err != nil {
						t.Error(err)
						return
					}
					v, err := r.Admit(k, Ask{Tokens: 7})
					if err != nil {
						continue
					}
					if name == "a" {
						mu.Lock()
						admitted++
						mu.Unlock()
					}
					v.Settle(inference.Usage{PromptTokens: 5, CompletionTokens: 2})
				}
			}
		})
	}
	wg.Wait()
	close(done)
	side.Wait()
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	usage, err := ReadUsage(file)
	if err != nil {
		t.Fatal(err)
	}
	a, b := usage[r.keys[0].ID()].Total, usage[r.keys[1].ID()].Total
	if int64(admitted) != a.Requests || admitted > 300 || a.Requests+a.Refused != 480 || a.PromptTokens != 5*a.Requests {
		t.Errorf("%d admitted, %+v", admitted, a)
	}
	if b != (Counts{480, 2400, 0, 960, 0}) {
		t.Errorf("%+v", b)
	}
}

// The goroutine reads a changed file and writes usage by itself.
func TestLoop(t *testing.T) {
	file := keyFile(t)
	put(t, file)
	synctest.Test(t, func(t *testing.T) {
		r, err := Open(Options{File: file})
		if err != nil {
			t.Fatal(err)
		}
		secrets := put(t, file, Key{Name: "a"})
		time.Sleep(lookEvery)
		synctest.Wait()
		k, err := r.Identify(secrets["a"])
		if err != nil {
			t.Fatal(err)
		}
		requests := func() int64 {
			usage, err := ReadUsage(file)
			if err != nil {
				t.Fatal(err)
			}
			return usage[k.ID()].Total.Requests
		}
		for i := range int64(2) {
			if _, err := r.Admit(k, Ask{}); err != nil {
				t.Fatal(err)
			}
			if got := requests(); got != i {
				t.Errorf("%d are written at once", got)
			}
			time.Sleep(writeEvery)
			synctest.Wait()
			if got := requests(); got != i+1 {
				t.Errorf("%d are written after %s", got, writeEvery)
			}
		}
		if _, err := r.Admit(k, Ask{}); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if got := requests(); got != 3 {
			t.Errorf("%d are written at the end", got)
		}
	})
}

// The files hold no secret.
func TestNoSecretInFiles(t *testing.T) {
	file := keyFile(t)
	secrets := put(t, file, Key{Name: "a"})
	r := newRig(t, Options{File: file})
	if err := r.use(secrets["a"], 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, UsageFile(file)} {
		data, err := os.ReadFile(path)
		if err != nil || !json.Valid(data) || strings.Contains(string(data), strings.TrimPrefix(secrets["a"], prefix)) {
			t.Errorf("%v\n%s", err, data)
		}
	}
}
