package key

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/fetch"
)

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
	for i, broken := range []string{"[", `{"accounts":{"x":{"windows":{"tokens_per_day":"1:2 3"}}}}`, `{"accounts":{"x":{"windows":{"tokens_per_day":"1:-2"}}}}`} {
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
