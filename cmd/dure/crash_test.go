package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/gguf/synth"
	"dure/inference/engine/enginetest"
)

var crashes = flag.Int("crashes", 4, "how often server and runner are killed")

const crashSeed = 3

// Server and runner are killed at any moment under load. Whatever comes back from
// disk, answers are those of a model that read it all anew; what was written is
// found again; the disk tier opens each time.
func TestKilledAtAnyMoment(t *testing.T) {
	shapes := []struct {
		name, pool string
		write      func(io.Writer, synth.Config) error
		cfg        synth.Config
	}{
		{"hybrid unified", "unified", synth.Qwen35, synth.Config{}},
		{"plain split", "split", synth.Llama, synth.Config{HeadDim: 64}},
		{"hybrid split", "split", synth.Qwen35, synth.Config{}},
		{"plain unified", "unified", synth.Llama, synth.Config{HeadDim: 64}},
	}
	for i, s := range shapes {
		kills := (*crashes + len(shapes) - 1 - i) / len(shapes)
		t.Run(s.name, func(t *testing.T) {
			r := newCrashRig(t, s.pool, s.write, s.cfg, uint64(i))
			for range kills {
				r.crash()
				r.verify()
			}
			r.comeBack()
			t.Logf("%d kills %v; %d answers, reused from %v, %d requests were cut off; logprobs at most %.2g apart; %d objects on disk",
				kills, r.kinds, r.answers, r.tiers, r.load.cut.Load(), r.cold.worst, len(r.files()))
		})
	}
}

// crashRig is a server with a home of its own and its clients.
type crashRig struct {
	t     *testing.T
	rng   *rand.Rand
	home  string
	args  []string
	s     *server
	load  *crashLoad
	cold  *coldReader
	kinds map[string]int

	answers int
	tiers   map[string]int
	last    map[string]crashTurn // of each session
}

func newCrashRig(t *testing.T, pool string, write func(io.Writer, synth.Config) error, cfg synth.Config, seed uint64) *crashRig {
	t.Helper()
	home := t.TempDir()
	if err := os.Symlink(filepath.Join(enginetest.Home(t), "engine"), filepath.Join(home, "engine")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "synth.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(f, cfg); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r := &crashRig{t: t, rng: rand.New(rand.NewPCG(crashSeed, seed)), home: home, kinds: map[string]int{}, tiers: map[string]int{},
		last: map[string]crashTurn{}, cold: newColdReader(t, path)}
	// Memory for a few states only, so that others must make do with the disk,
	// which has room for all: nothing that was written may be missing.
	r.args = []string{"serve", path, "--addr", "127.0.0.1:0", "--threads", "1", "--context", "1024", "--sequences", "3", "--queue", "16",
		"--flash-attention", "off", "--pool", pool, "--cache-ram", "2MiB", "--cache-disk", "2GiB", "--log-level", "warn"}
	r.start()
	r.load = startCrashLoad(t, r.s.url, crashSeed+seed)
	return r
}

// launch starts a server and does not wait for it.
func (r *crashRig) launch() (*server, *bufio.Scanner) {
	r.t.Helper()
	s := &server{t: r.t, cmd: dureCommand(r.t, r.args...), errs: &lockedBuffer{}, done: make(chan error, 1)}
	s.cmd.Env = append(s.cmd.Env, envHome+"="+r.home)
	s.cmd.Stderr = s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return s, bufio.NewScanner(out)
}

// start brings a server up.
func (r *crashRig) start() {
	r.t.Helper()
	s, lines := r.launch()
	r.s = s
	r.t.Cleanup(func() { s.stop() })
	for s.url == "" && lines.Scan() {
		s.out += lines.Text() + "\n"
		if url, ok := strings.CutPrefix(lines.Text(), "ready    "); ok {
			s.url = url
		}
	}
	go func() {
		for lines.Scan() {
		}
		s.done <- s.cmd.Wait()
	}()
	if s.url == "" {
		r.t.Fatalf("the server did not get ready: %s", s.errs)
	}
}

// crash lets the load go on for a while, kills something, and sees to it that all
// comes back.
func (r *crashRig) crash() {
	r.t.Helper()
	time.Sleep(time.Duration(r.rng.IntN(1500)) * time.Millisecond)
	before := r.files()
	switch kind := r.rng.IntN(8); {
	case kind < 3:
		r.kinds["runner"]++
		r.killRunner()
	case kind < 6:
		r.kinds["server"]++
		r.killServer()
	case kind < 7:
		r.kinds["server, started again and killed"]++
		r.killServer()
		r.killStarting()
	default:
		r.kinds["runner, then server"]++
		kill(r.t, r.s.runnerPID())
		r.killServer()
	}
	if r.s.url == "" {
		r.start()
		r.load.moved(r.s.url)
	}
	r.complete(before)
}

// killRunner kills the model's process and waits until another has taken over.
func (r *crashRig) killRunner() {
	r.t.Helper()
	pid := r.s.runnerPID()
	kill(r.t, pid)
	eventually(r.t, "another runner answers", func() bool {
		list, err := r.caches()
		return err == nil && len(list) == 1 && list[0].Error == "" && r.s.runnerPID() != pid
	})
}

func (r *crashRig) killServer() {
	r.t.Helper()
	r.load.moved("")
	kill(r.t, r.s.cmd.Process.Pid)
	r.s.done <- <-r.s.done
	r.s.url = ""
}

// killStarting kills a server that may not be up yet.
func (r *crashRig) killStarting() {
	r.t.Helper()
	s, lines := r.launch()
	time.Sleep(time.Duration(r.rng.IntN(1000)) * time.Millisecond)
	kill(r.t, s.cmd.Process.Pid)
	for lines.Scan() {
	}
	if err := s.cmd.Wait(); err == nil {
		r.t.Error("a killed server ended well")
	}
}

// complete checks that the disk tier is open and what was on disk is there.
func (r *crashRig) complete(before []string) {
	r.t.Helper()
	list, err := r.caches()
	if err != nil || len(list) != 1 || list[0].Error != "" {
		r.t.Fatalf("%v %+v", err, list)
	}
	c := list[0].Cache
	if c.NoDisk != "" || len(c.Refused) > 0 || c.Disk.Budget == 0 || c.Opaque != "" {
		r.t.Errorf("after a kill: no disk %q, refused %v, disk %+v, opaque %q\n%s", c.NoDisk, c.Refused, c.Disk, c.Opaque, r.s.errs)
	}
	after, lost := r.files(), 0
	for _, f := range before {
		if _, ok := slices.BinarySearch(after, f); !ok {
			lost++
		}
	}
	if lost > 0 {
		r.t.Errorf("%d files of %d that were on disk before the kill are lost, %d are there now", lost, len(before), len(after))
	}
	if c.Disk.Objects < len(before) {
		r.t.Errorf("%d objects are known of the disk, %d were there before the kill", c.Disk.Objects, len(before))
	}
}

// files are the complete ones of the disk tier, in order of their names.
func (r *crashRig) files() []string {
	r.t.Helper()
	all, err := filepath.Glob(filepath.Join(r.home, "cache", "*", "*.kv"))
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

type crashCache struct {
	Error string
	Cache struct {
		RAM, Disk struct {
			Bytes, Budget int64
			Objects       int
		}
		Refused map[string]int
		NoDisk  string `json:"no_disk"`
		Opaque  string
		Failed  int
		// What a crash would lose.
		Unsaved, Unwritten int
	}
}

func (r *crashRig) caches() (list []crashCache, err error) {
	r.t.Helper()
	_, body := r.s.call("GET", "/dure/cache")
	var all struct{ Data []crashCache }
	err = json.Unmarshal([]byte(body), &all)
	return all.Data, err
}

// verify compares what was answered with a cold run.
func (r *crashRig) verify() {
	r.t.Helper()
	for _, turn := range r.load.take() {
		r.answers++
		tier := turn.usage.Dure.Tier
		if tier == "gone" {
			tier += " (" + turn.usage.Dure.Reason + ")"
		}
		r.tiers[tier]++
		r.last[turn.session] = turn
		r.cold.compare(turn)
	}
}

// opening is more tokens than open an answer. Where the state behind an answer went
// for want of memory, the one at the end of its question is what is found.
const opening = 8

// comeBack ends the load, waits until all is written, kills once more, and has
// each session go on: what it said before is not read again.
func (r *crashRig) comeBack() {
	r.t.Helper()
	clear(r.last) // the last kill took what was computed a moment before
	eventually(r.t, "all have spoken since the last kill", func() bool {
		r.verify()
		return len(r.last) >= crashTalks
	})
	r.load.stop()
	r.verify()
	lost := r.settle()
	before := r.files()
	r.killServer()
	r.start()
	r.complete(before)
	r.load.moved(r.s.url)
	for _, k := range r.load.talks {
		past, ok := r.last[k.session()]
		if !ok {
			continue // it has not said anything yet
		}
		k.last = true
		turn, again, err := k.turn(r.s.url)
		if again || err != nil {
			r.t.Fatalf("a session that comes back: %v", err)
		}
		r.cold.compare(turn)
		if u := turn.usage; u.Dure.Tier != "disk" || u.Details.Cached < past.usage.Prompt-opening {
			if lost--; lost < 0 {
				r.t.Errorf("session %s: %d tokens were read before, %d came back, from %q (%s)", k.session(), past.usage.Prompt, u.Details.Cached, u.Dure.Tier, u.Dure.Reason)
			}
		}
	}
}

// settle waits until all is written. It returns how many sequences could not be: of
// them there was no room for a copy.
func (r *crashRig) settle() (unsaved int) {
	r.t.Helper()
	since := time.Now()
	eventually(r.t, "all is written", func() bool {
		time.Sleep(100 * time.Millisecond)
		all, err := r.caches()
		if err != nil {
			return false
		}
		waiting := 0
		unsaved = 0
		for _, c := range all {
			unsaved, waiting = unsaved+c.Cache.Unsaved, waiting+c.Cache.Unwritten
		}
		return waiting == 0 && (unsaved == 0 || time.Since(since) > 5*time.Second)
	})
	return unsaved
}
