package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
	"dure/runtime/judge"
	"dure/runtime/tool"
)

// inert is a tool that does nothing but tell when it was last started: what is measured
// is what stands before it.
type inert struct{ last *atomic.Int64 } // nanoseconds since 1970

func (inert) Spec() tool.Spec {
	return tool.Spec{Name: "shell", Description: "Runs a command.", Fields: []tool.Field{{Name: "command", Description: "the command", Required: true}}}
}

func (t inert) Run(context.Context, tool.Call) (tool.Result, error) {
	t.last.Store(time.Now().UnixNano())
	return tool.Result{Outcome: tool.Done, Output: "done"}, nil
}

// team measures the way of a call up to its tool, with a log on the disk: how many calls
// pass the judge's rules a second, and how long after a block the last tool starts.
func (r *sandboxRig) team(ctx context.Context) (err error) {
	log, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(r.dir, "log.db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	g, err := gate.Open(ctx, log)
	if err != nil {
		return err
	}
	rules, err := judge.Builtin()
	if err != nil {
		return err
	}
	last := new(atomic.Int64)
	guard := &tool.Guard{Tools: []tool.Tool{inert{last}}, Judge: rules, Patience: time.Minute, Gate: g, Log: log, Now: time.Now}
	begin := time.Now()
	var judged atomic.Int64
	var agents sync.WaitGroup
	defer agents.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, r.opt.team)
	for i := range r.opt.team {
		agents.Go(func() {
			if err := work(ctx, guard, fmt.Sprintf("agent%d", i), &judged); err != nil && ctx.Err() == nil {
				failed <- err
			}
		})
	}
	select {
	case <-time.After(r.opt.teamTime):
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	r.f.Team = r.opt.team
	r.f.JudgedPerS = float64(judged.Load()) / time.Since(begin).Seconds()
	return r.stop(ctx, guard, last)
}

// work calls the tool until the context ends.
func work(ctx context.Context, guard *tool.Guard, name string, judged *atomic.Int64) error {
	commands := []string{"go test ./...", "git status --short", "sed -n 1,40p main.go | grep -c func", "cd src && make -j2 2>&1 | tail -5", "rm -rf build/tmp"}
	for i := 0; ; i++ {
		arguments, err := json.Marshal(map[string]string{"command": commands[i%len(commands)]})
		if err != nil {
			return err
		}
		res, err := guard.Run(ctx, tool.Call{Agent: name, Turn: i + 1, ID: strconv.Itoa(i), Tool: "shell", Arguments: string(arguments)})
		if err != nil {
			return err
		}
		if res.Outcome != tool.Done {
			return fmt.Errorf("a harmless call ended as %s: %s", res.Outcome, res.Output)
		}
		judged.Add(1)
	}
}

// stop has one agent call what is blocked, and waits until nobody can start a tool.
func (r *sandboxRig) stop(ctx context.Context, guard *tool.Guard, last *atomic.Int64) error {
	const hostile = `{"command":"nsenter -t 1 -m -u -n -i sh"}`
	call := tool.Call{Agent: "hostile", Turn: 1, ID: "1", Tool: "shell", Arguments: hostile}
	if v, err := guard.Judge.Judge(ctx, call); err != nil || v.Decision != tool.Block {
		return fmt.Errorf("the rules do not block %s: %+v %v", hostile, v, err)
	}
	asked := time.Now()
	go func() { _, _ = guard.Run(ctx, call) }() // it waits for a person, who never comes
	if _, err := guard.Gate.Wait(ctx, gate.PhaseOpen); err != nil {
		return err
	}
	stopped := time.Now()
	for guard.Gate.Inside() > 0 {
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	// Who was inside has left, and nobody enters; a second more would show who does.
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	r.f.StopMS = float64(stopped.Sub(asked).Microseconds()) / 1000
	r.f.LastStartMS = max(0, float64(time.Unix(0, last.Load()).Sub(asked).Microseconds())/1000)
	fmt.Fprintf(r.log, "  %d agents stopped\n", r.opt.team)
	return nil
}
