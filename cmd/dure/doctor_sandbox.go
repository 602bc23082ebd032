package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"dure/runtime/sandbox"
)

// checkSandbox says what stands between agents and this machine: it starts a box.
func (d *diagnosis) checkSandbox(ctx context.Context) {
	const fix = "see the reason above and the settings below it; without rung full, agents are safer on a machine of their own"
	if err := os.MkdirAll(d.Home, 0o700); err != nil {
		return // checkHome has said so
	}
	host, err := sandbox.Open(ctx, sandbox.Options{Dir: d.Home, Log: newLogger(os.Stderr, "error")})
	if err != nil {
		d.add(false, fmt.Sprintf("sandbox for agents: %v", err), "agents do not start here unless you say --unsafe")
		return
	}
	r := host.Report()
	d.Sandbox = &r
	d.add(r.Rung == sandbox.Full, fmt.Sprintf("sandbox for agents: rung %s, limits by %s, Landlock %d, %s (no virtual machine: namespaces share this kernel)",
		r.Rung, r.Limits, r.Landlock, snapshots(r.Overlay)), fix)
	for _, w := range r.Warnings {
		d.add(false, "sandbox: "+w, fix)
	}
	if err := host.Close(); err != nil {
		d.add(false, fmt.Sprintf("sandbox: %v", err), "remove the control groups named dure-boxes-* that no process uses")
	}
}

func snapshots(shared bool) string {
	if shared {
		return "shared snapshots"
	}
	return "a copy for every agent"
}

// locks are the machine's settings that decide what a sandbox can be.
func locks(r *sandbox.Report) string {
	var all []string
	for _, f := range r.Facts {
		if f.Value != "" {
			all = append(all, f.Name+"="+f.Value)
		}
	}
	return strings.Join(all, ", ")
}
