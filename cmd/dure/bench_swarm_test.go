package main

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"dure/inference/bench/swarm"
)

// The load against the real server and model: what is counted, not how fast.
func TestBenchAgainstDure(t *testing.T) {
	s := startServer(t, "--context", "1024", "--sequences", "2")
	run := func(t *testing.T, v any, args ...string) {
		t.Helper()
		cmd := dureCommand(t, append([]string{"bench", args[0], "--url", s.url, "--json"}, args[1:]...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, v)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Run("swarm", func(t *testing.T) {
		var r swarm.Report
		run(t, &r, "swarm", "--agents", "2", "--turns", "2", "--shared-tokens", "100", "--task-words", "20", "--result-words", "20", "--output", "4", "--tool-wait", "1ms")
		if r.Server != swarm.Dure || r.Model != "smollm2-135m" || r.Finished != 2 || r.Answered != 4 || len(r.Errors) != 0 || *r.Completion != 16 {
			t.Errorf("%+v", r)
		}
		// 100 shared, and each agent's own: at most two texts, an answer and
		// what the template writes around them.
		if *r.Distinct < 180 || *r.Distinct > 320 || *r.Prompt <= *r.Distinct || *r.Read > *r.Prompt || *r.Fresh != *r.Distinct-6 {
			t.Errorf("prompt %d, read %d, distinct %d, fresh %d", *r.Prompt, *r.Read, *r.Distinct, *r.Fresh)
		}
	})
	t.Run("gap", func(t *testing.T) {
		var r swarm.GapReport
		run(t, &r, "gap", "--streams", "1", "--prompt-tokens", "300", "--stream-tokens", "900", "--before", "4")
		if r.Step.N < 3 || r.Gap.N < 1 || r.Solo <= 0 || r.Loaded <= 0 || *r.Prompt < 290 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("resume", func(t *testing.T) {
		var r swarm.ResumeReport
		run(t, &r, "resume", "--prompt-tokens", "300", "--others", "3", "--other-tokens", "40", "--output", "4", "--restart-command", "true")
		if *r.Cold.Prompt < 290 || *r.Parked.Prompt <= *r.Cold.Prompt || r.Disk == nil || *r.Disk.Prompt <= *r.Parked.Prompt {
			t.Errorf("%+v", r)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		const answered = `dure_completion_tokens_total{model="smollm2-135m"}`
		before := s.metric(answered)
		cmd := dureCommand(t, "bench", "swarm", "--url", s.url, "--agents", "2", "--turns", "2", "--shared-tokens", "50", "--output", "4", "--tool-wait", "1h")
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "both agents wait for a tool", func() bool { return s.metric(answered) >= before+8 })
		cmd.Process.Signal(os.Interrupt)
		if cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(out.String(), "interrupted") || !strings.Contains(out.String(), "0 of 2") {
			t.Errorf("%s\n%s", cmd.ProcessState, out.String())
		}
	})
}

func TestBenchRefuses(t *testing.T) {
	nobody := "http://" + busyNothing(t)
	for _, tc := range []struct{ args, want string }{
		{"bench swarm --url " + nobody, "--url"},
		{"bench swarm --url nonsense", "http://127.0.0.1"},
		{"bench swarm --start later", "staggered"},
		{"bench swarm --stall 0s", "--stall"},
		{"bench gap --url " + nobody, "--url"},
		{"bench resume --url " + nobody, "--url"},
		{"bench peers --scenarios all", "swarm, crowd"},
		{"bench peers --agents 0", "--agents"},
	} {
		out, err := dureCommand(t, strings.Fields(tc.args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tc.want) {
			t.Errorf("dure %s: %v, wanted %q:\n%s", tc.args, err, tc.want, out)
		}
	}
}

func TestPeersTable(t *testing.T) {
	var table peersTable
	wall := subject{What: "wall", Unit: "s", Bar: 0.6, Compared: true}
	rate := subject{What: "rate", Bar: 0.95, Compared: true, Higher: true}
	lost := subject{What: "lost", Zero: true}
	for rep, v := range []struct{ ours, unified, split float64 }{{5, 10, 20}, {6, 30, 10}, {50, 100, 100}} {
		table.add("m", wall, settingDure, rep, v.ours)
		table.add("m", wall, settingUnified, rep, v.unified)
		table.add("m", wall, settingSplit, rep, v.split)
		table.add("m", rate, settingDure, rep, v.ours)
		table.add("m", rate, settingSplit, rep, v.split)
		table.add("m", lost, settingDure, rep, float64(rep/2)) // 0, 0, 1
	}
	table.add("m", subject{What: "alone", Bar: 2, Compared: true}, settingDure, 0, 1)
	r := table.Rows
	if len(r) != 4 || r[0].ratio() != 0.5 || r[0].median(settingDure) != 6 || r[1].ratio() != 0.5 || !math.IsNaN(r[3].ratio()) {
		t.Fatalf("%+v", r)
	}
	for i, want := range []struct{ held, known bool }{{true, true}, {false, true}, {false, true}, {false, false}} {
		if held, known := r[i].holds(); held != want.held || known != want.known {
			t.Errorf("%s: %v, %v", r[i].What, held, known)
		}
	}
	table.Problems = []string{"x"}
	var b strings.Builder
	table.print(&b)
	for _, want := range []string{"| m | wall | ratio <= 0.60 | 6 s | 30 s | 20 s | 0.5 | yes |", "| m | alone | ratio <= 2.00 | 1 |  |  |  | not measured |", "problem: x"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestLastBytes(t *testing.T) {
	var l lastBytes
	l.Write([]byte(strings.Repeat("x", 5000)))
	l.Write([]byte("end"))
	if s := l.String(); len(s) != 2000 || !strings.HasSuffix(s, "xend") {
		t.Errorf("%d bytes", len(s))
	}
}
