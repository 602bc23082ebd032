package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"dure/inference/engine"
)

// childVariable makes the test binary a probe: it lays out the jobs it reads
// and prints one answer a line. The engine allocates recurrent state even where
// it allocates nothing else, and what it dislikes aborts the process.
const childVariable = "DURE_PLAN_PROBE"

// answer is what a probe says of one job.
type answer struct {
	Layout engine.Layout
	Err    string
	// RSS of the process while everything was there, in bytes.
	Devices []engine.Device
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := probe(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func probe(dir string) error {
	level := slog.LevelError
	if os.Getenv(childVariable+"_LOG") != "" {
		level = slog.LevelDebug
	}
	lib, err := engine.Open(dir, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	if err != nil {
		return err
	}
	var jobs []engine.ProbeOptions
	if err := json.NewDecoder(os.Stdin).Decode(&jobs); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, job := range jobs {
		a := answer{Devices: lib.Devices()}
		if a.Layout, err = lib.Probe(job); err != nil {
			a.Err = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// ask runs the jobs in one child on the engine of dir.
func ask(t testing.TB, dir string, jobs []engine.ProbeOptions) []answer {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir, "GGML_VK_VISIBLE_DEVICES=0", "GGML_NO_BACKTRACE=1", "GOMAXPROCS=2")
	cmd.Stdin = bytes.NewReader(in)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	runErr := cmd.Run()
	var answers []answer
	for dec := json.NewDecoder(&out); len(answers) < len(jobs); {
		var a answer
		if err := dec.Decode(&a); err != nil {
			t.Fatalf("job %d of %d, %+v: %v; the child: %v", len(answers), len(jobs), jobs[len(answers)], err, runErr)
		}
		answers = append(answers, a)
	}
	return answers
}
