package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/control"
	"dure/runtime/swarm"
)

var (
	swarmSeeds     = flag.Int("swarm-seeds", 0, "how many seeds TestSwarmSeeds tries")
	swarmSeedModel = flag.String("swarm-seed-model", "smollm2-135m", "the model of TestSwarmSeeds")
	swarmSeedTime  = flag.Duration("swarm-seed-time", 3*time.Minute, "how long one run of TestSwarmSeeds may take")
)

// How often a real model does a task that is about as small as one can be: to write a
// given word into a file, one call of a tool. Its answers are held to the form of a call,
// and to nothing of what is in it; the check fails before and passes after. The figure is
// printed; that it is a certain one is not asked.
func TestSwarmSeeds(t *testing.T) {
	if *swarmSeeds == 0 {
		t.Skip("takes half a minute a seed: -args -swarm-seeds 20")
	}
	s := startServer(t, *swarmSeedModel)
	words := strings.Fields("blue river stone apple tiger cloud music green house light paper sugar table train water white bread chair dance eagle")
	done := 0
	for seed := range *swarmSeeds {
		word := words[seed%len(words)]
		passed, why := seedRun(t, s, seed+1, word)
		if passed {
			done++
		}
		fmt.Printf("seed %d (%s): %v %s\n", seed+1, word, passed, why)
	}
	fmt.Printf("%s: %d of %d runs done\n", *swarmSeedModel, done, *swarmSeeds)
}

// seedRun is one run, to its end or to the first moment at which a person would be asked.
func seedRun(t *testing.T, s *server, seed int, word string) (passed bool, why string) {
	p := newPlayground(t)
	check := "grep -qx " + word + " answer.txt"
	script := fmt.Sprintf(`
parts:
  - name: lead
    role: lead
    turns:
      - calls: [{tool: spawn, arguments: {title: "Write the word %[1]s into answer.txt", text: "Use the tool write with the path answer.txt and the content %[1]s", check: %[2]q}}]
      - name: over
        calls: [{tool: done, arguments: {summary: "One task."}}]
        next: [{go: over}]
`, word, check)
	if err := os.WriteFile(filepath.Join(p.dir, "script.yaml"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	// An answer is as long as the task needs several times over, and no longer.
	roles := fmt.Sprintf("roles:\n  worker: {model: %s, max_tokens: 60}\n", *swarmSeedModel)
	if err := os.WriteFile(filepath.Join(p.dir, "models.yaml"), []byte(roles), 0o644); err != nil {
		t.Fatal(err)
	}
	run := p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", check, "--script", "script.yaml",
		"--url", s.url, "--must-call", "--yes", "--agents", "1", "--turns", "2", "--judge-open", "allow", "--seed", fmt.Sprint(seed))
	out := &lockedBuffer{}
	run.Stdout, run.Stderr = out, out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	ctx, cancel := context.WithTimeout(p.ctx, *swarmSeedTime)
	defer cancel()
	c := control.Dial(filepath.Join(p.dir, "run", teamSocket))
	for {
		select {
		case err := <-ended:
			needsSandbox(t, out)
			return err == nil, ""
		case <-time.After(200 * time.Millisecond):
		}
		v, err := c.View(ctx)
		switch {
		case ctx.Err() != nil:
			why = "time"
		case err != nil && !errors.Is(err, control.ErrNotRunning):
			continue
		case len(v.Questions) > 0 || len(v.Tasks) > 1 && v.Tasks[1].Outcome == swarm.Failed:
			why = "the task failed"
		default:
			if st, err := c.Status(ctx); err != nil || len(st.Gate.Blocks) == 0 {
				continue
			}
			why = "the judge stopped the team"
		}
		_ = run.Process.Kill()
		<-ended
		return false, why
	}
}
