package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"dure/inference"
	"dure/runtime/agent"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
	"dure/runtime/judge"
	"dure/runtime/sandbox"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
)

// toyNames are the toy team's agents.
var toyNames = []string{"noether", "gauss", "abel", "hilbert", "ramanujan", "germain", "euler", "kovalevskaya"}

const toyFile = "words.txt"

func swarmToyCommand(dir *string) *cobra.Command {
	var agents int
	var pace time.Duration
	var fresh, unsafe bool
	cmd := &cobra.Command{
		Use:   "toy",
		Short: "Run a toy team: scripted agents in real sandboxes, one of which does what it must not",
		Long: `Agents that follow a script work on copies of a small folder, each in a sandbox of its own.
In its third turn noether tries to read a private key. The judge blocks that, the whole
team stops, and waits for you: see dure swarm status, then resume, overrule or end it from
another terminal. Ctrl-C, or a kill, loses nothing: the same command goes on.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			folder, err := toyDir(*dir)
			if err != nil {
				return err
			}
			if agents < 1 || agents > len(toyNames) {
				return fmt.Errorf("--agents %d: there can be 1 to %d", agents, len(toyNames))
			}
			if pace < 0 {
				return fmt.Errorf("--pace %v: must not be negative", pace)
			}
			return runToy(ctx, cmd.OutOrStdout(), toyOptions{folder, toyNames[:agents], pace, fresh, unsafe})
		},
	}
	cmd.Flags().IntVar(&agents, "agents", 5, "how many agents")
	cmd.Flags().DurationVar(&pace, "pace", time.Second, "how long the scripted model takes to answer")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "forget the team that was there")
	cmd.Flags().BoolVar(&unsafe, "unsafe", false, "run commands without walls where this machine allows no sandbox")
	return cmd
}

// toyDir is where the toy team is kept.
func toyDir(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	home, err := homeDir()
	return filepath.Join(home, "swarm", "toy"), err
}

// toyOptions say which toy team to run.
type toyOptions struct {
	folder        string
	names         []string
	pace          time.Duration
	fresh, unsafe bool
}

// clearToy removes what a toy team made, and nothing else.
func clearToy(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, "log.db")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range []string{"log.db", "log.db-wal", "log.db-shm", "tree", "agents"} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("forget the team: %w", err)
		}
	}
	return nil
}

// toy is a running toy team.
type toy struct {
	folder string
	log    event.Log
	gate   *gate.Gate
	host   *sandbox.Host
	rules  *judge.Rules
	pace   time.Duration

	mu     sync.Mutex
	agents []control.Agent
	seen   event.Position // printed up to here
}

func runToy(ctx context.Context, w io.Writer, o toyOptions) (err error) {
	folder := o.folder
	t := &toy{folder: folder, pace: o.pace}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	// Whoever has the socket has the folder.
	l, err := control.Listen(filepath.Join(folder, "control.sock"))
	if err != nil {
		return err
	}
	defer l.Close()
	if o.fresh {
		if err := clearToy(folder); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(folder, "tree"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "tree", toyFile), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		return err
	}
	if t.log, err = sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(folder, "log.db")}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.log.Close()) }()
	if t.gate, err = gate.Open(ctx, t.log); err != nil {
		return err
	}
	if t.gate.State().Phase == gate.PhaseEnded {
		return errors.New("this team was ended; dure swarm toy --fresh begins another")
	}
	if t.rules, err = judge.Builtin(); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if t.host, err = sandbox.Open(ctx, sandbox.Options{Dir: folder, Unsafe: o.unsafe, Log: logger}); err != nil {
		if ctx.Err() != nil {
			return context.Canceled
		}
		return err
	}
	defer func() { err = errors.Join(err, t.host.Close()) }()
	srv := &http.Server{Handler: control.Server{Gate: t.gate, Agents: t.told}.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	defer srv.Close()
	return t.run(ctx, w, o.names)
}

func (t *toy) told() []control.Agent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]control.Agent(nil), t.agents...)
}

// run has all agents work, and prints what they do, until they end or ctx does.
func (t *toy) run(ctx context.Context, w io.Writer, names []string) error {
	head, err := t.log.Head(ctx)
	if err != nil {
		return err
	}
	calls, err := t.replay(ctx, names, head)
	if err != nil {
		return err
	}
	watched, stopWatching := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(watched, w, head, calls) })
	if s := t.gate.State(); s.Phase == gate.PhaseStopped {
		fmt.Fprintln(w, "The team is stopped, as it was left. In another terminal:\n  dure swarm status | resume | overrule | end")
	}
	var team sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		team.Go(func() { errs[i] = t.work(ctx, i, name) })
	}
	team.Wait()
	if err := t.printed(ctx); err != nil {
		errs = append(errs, err)
	}
	stopWatching()
	watching.Wait()
	for i, err := range errs[:len(names)] {
		if errors.Is(err, gate.ErrEnded) {
			t.set(i, "ended by a person")
			errs[i] = nil
		}
	}
	if err := errors.Join(errs...); err != nil {
		if ctx.Err() != nil {
			return context.Canceled
		}
		return err
	}
	return printTeam(w, control.Status{Gate: t.gate.State(), Agents: t.told()})
}

// printed waits until all that is in the log was printed.
func (t *toy) printed(ctx context.Context) error {
	head, err := t.log.Head(ctx)
	for err == nil {
		t.mu.Lock()
		seen := t.seen
		t.mu.Unlock()
		if seen >= head {
			return nil
		}
		err = sleep(ctx, 5*time.Millisecond)
	}
	return err
}

func (t *toy) set(i int, state string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agents[i].State = state
}

// work is one agent in its box.
func (t *toy) work(ctx context.Context, i int, name string) error {
	box, err := t.host.Start(ctx, sandbox.Spec{Name: "toy-" + name, Dir: filepath.Join(t.folder, "agents", name), Lower: filepath.Join(t.folder, "tree")})
	if err != nil {
		return err
	}
	defer box.Close()
	guard := &tool.Guard{
		Tools: []tool.Tool{tool.Short(8<<10, nil, tool.Within(time.Minute, builtin.Shell{Box: box})), builtin.Done{}},
		Judge: t.rules, Patience: 10 * time.Second, Gate: t.gate, Log: t.log, Now: time.Now,
	}
	a := &agent.Agent{
		Born: agent.Born{Name: name, Role: "worker", Finish: "done", System: "You follow a script.",
			Task: "Add a line to " + toyFile + " and count its lines."},
		Model: t.gate.Model(toyModel{name: name, pace: t.pace}),
		Guard: guard, Log: t.log, MaxTurns: 20, Priority: inference.PriorityWorker, Wait: sleep,
	}
	end, err := a.Run(ctx)
	if err != nil {
		return err
	}
	t.set(i, string(end.Outcome))
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replay takes account of what is in the log already.
func (t *toy) replay(ctx context.Context, names []string, head event.Position) (calls map[string]string, err error) {
	agents := make([]control.Agent, len(names))
	for i, name := range names {
		agents[i] = control.Agent{Name: name, State: "working"}
	}
	calls = map[string]string{}
	for e, err := range t.log.ReadAll(ctx, 1) {
		if err != nil {
			return nil, err
		}
		if e.Position <= head {
			t.tell(e, agents, calls)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agents, t.seen = agents, head
	return calls, nil
}

// watch prints what happens beyond a position.
func (t *toy) watch(ctx context.Context, w io.Writer, head event.Position, calls map[string]string) {
	for e, err := range t.log.FollowAll(ctx, head+1) {
		if err != nil {
			return // the team is done, or its log tells more to those who work with it
		}
		t.mu.Lock()
		line := t.tell(e, t.agents, calls)
		t.mu.Unlock()
		if line != "" {
			fmt.Fprintln(w, line)
		}
		t.mu.Lock()
		t.seen = e.Position
		t.mu.Unlock()
	}
}

// tell is an event as a line for a person, and takes account of turns. calls are those
// that have not ended, as they are shown.
func (t *toy) tell(e event.Event, agents []control.Agent, calls map[string]string) string {
	switch e.Type {
	case agent.Events.Turned.Name():
		if turn, err := agent.Events.Turned.Decode(e); err == nil {
			name := strings.TrimPrefix(e.Stream, agent.Stream("", ""))
			for i := range agents {
				if agents[i].Name == name {
					agents[i].Turns = turn.Turn
				}
			}
		}
	case tool.Events.Judged.Name():
		if j, err := tool.Events.Judged.Decode(e); err == nil {
			calls[j.Agent+j.Call] = shownArguments(j.Arguments)
		}
	case tool.Events.Ended.Name():
		if end, err := tool.Events.Ended.Decode(e); err == nil {
			line := fmt.Sprintf("%-12s turn %d  %s %s: %s", end.Agent, end.Turn, end.Tool, calls[end.Agent+end.Call], end.Outcome)
			delete(calls, end.Agent+end.Call)
			return line
		}
	case "gate.blocked", "gate.stopped":
		return "\nThe team is stopped. In another terminal:\n  dure swarm status | resume | overrule | end"
	case "gate.resumed", "gate.overruled":
		if t.gate.State().Phase == gate.PhaseOpen {
			return "The team goes on.\n"
		}
	}
	return ""
}

// toyModel answers by the turn, as its script says.
type toyModel struct {
	name string
	pace time.Duration
}

func (m toyModel) Info() inference.Info { return inference.Info{Name: "script"} }

func (m toyModel) script(turn int) (name string, arguments map[string]string) {
	switch {
	case turn == 3 && m.name == toyNames[0]:
		return "shell", map[string]string{"command": "cat ~/.ssh/id_rsa"}
	case turn == 1:
		return "shell", map[string]string{"command": "ls -l " + toyFile}
	case turn < 6:
		return "shell", map[string]string{"command": fmt.Sprintf("echo '%s %d' >> %s && wc -l < %s", m.name, turn, toyFile, toyFile)}
	}
	return "done", map[string]string{"summary": "added lines to " + toyFile}
}

// Generate implements inference.Model.
func (m toyModel) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		turn := 1
		for _, msg := range req.Messages {
			if msg.Role == inference.RoleAssistant {
				turn++
			}
		}
		if err := sleep(ctx, m.pace); err != nil {
			yield(inference.Event{}, err)
			return
		}
		name, arguments := m.script(turn)
		text, err := json.Marshal(arguments)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		for _, e := range []inference.Event{
			{Kind: inference.EventStarted},
			{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{ID: "c", Name: name, Arguments: strings.TrimSpace(string(text))}},
			{Kind: inference.EventDone, Finish: inference.FinishToolCalls, Usage: &inference.Usage{}},
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}
