package world

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dure/runtime/board"
	"dure/runtime/board/door"
	"dure/runtime/board/shell"
	"dure/runtime/sandbox"
	"dure/runtime/swarm"
	"dure/runtime/vcs"
	"dure/runtime/vcs/bridge"
)

// clientDir is where a box has the client's commands.
const clientDir = "/opt/dure"

// basePath is what a box's commands are looked up in otherwise.
const basePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"

// connected reports whether boxes of a role have a socket: the role has a shell and the
// team's tables, and the box can show it a socket and the commands for it.
func (w *World) connected(r swarm.Role) bool {
	return w.Client != "" && commits(r) && w.Host.Report().Rung == sandbox.Full
}

// connect opens the socket of an agent's box, and adds it to the box's spec, with the
// commands that use it. Whoever reaches the socket is the agent. disconnect closes it.
func (w *World) connect(a swarm.Assignment, g board.Gateway, spec *sandbox.Spec) (disconnect func() error, err error) {
	actor, err := vcs.Agent(a.Agent)
	if err != nil {
		return nil, err
	}
	// Where root runs boxes, they are another user, who must be able to connect. The
	// folder cannot be listed and the name cannot be guessed: other users of the
	// machine, and other boxes, do not come to it.
	dir, mode := filepath.Join(w.Dir, "doors"), fs.FileMode(0o600)
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		mode = 0o666
	}
	d, err := door.Open(g, door.Config{
		Path: filepath.Join(dir, rand.Text()[:16]), Mode: mode, Limits: w.BoardLimits, Logger: w.Logger,
		Tables: w.Board.Tables, Git: w.transport.Handler(actor),
	})
	if err != nil {
		return nil, err
	}
	spec.Socket = d.Path()
	for _, name := range []string{shell.Name, bridge.Name} {
		spec.Mounts = append(spec.Mounts[:len(spec.Mounts):len(spec.Mounts)], sandbox.Mount{From: w.Client, Inside: clientDir + "/" + name})
	}
	spec.Env = append(spec.Env[:len(spec.Env):len(spec.Env)], w.identity(actor, spec.Env)...)
	return d.Close, nil
}

// identity is the environment of an agent that talks to its team: the commands' folder,
// and who git takes it for.
func (w *World) identity(actor vcs.Actor, env []string) []string {
	path := basePath
	for _, e := range env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			path = rest
		}
	}
	who := w.Repo.Signature(actor)
	out := []string{"PATH=" + clientDir + ":" + path, "GIT_TERMINAL_PROMPT=0"}
	for _, as := range []string{"AUTHOR", "COMMITTER"} {
		out = append(out, "GIT_"+as+"_NAME="+who.Name, "GIT_"+as+"_EMAIL="+who.Email)
	}
	return out
}

// clearDoors removes sockets that a process left which was killed.
func (w *World) clearDoors() error { return os.RemoveAll(filepath.Join(w.Dir, "doors")) }

// tables are the team's tables, as an agent may use them. A judge has none: it knows what
// it sees, and nothing that others say.
func (w *World) tables(ctx context.Context, a swarm.Assignment) (board.Gateway, error) {
	if a.Role == swarm.RoleJudge {
		return nil, nil
	}
	return w.Board.Join(ctx, board.Agent{Name: a.Agent, Crew: a.Crew, Role: board.Role(a.Role)})
}
