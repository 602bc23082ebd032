package key

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
)

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
