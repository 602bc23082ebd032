package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dure/runtime/event"
	"dure/runtime/swarm"
)

// Names in a run's folder.
const (
	SocketFile = "control.sock" // where its process answers
	LogFile    = "log.db"
	AskedFile  = "run.json" // what the run was begun with
)

// Runs are the runs that lie below a folder, one folder each.
type Runs struct {
	Dir string
	// Open opens the log of a run, to be read only: nothing waits for who reads it.
	Open func(ctx context.Context, file string) (event.Log, error)
}

// A Row is a run in a list.
type Row struct {
	Name   string    `json:"name"`
	Folder string    `json:"folder"`
	State  Standing  `json:"state"`
	Why    string    `json:"why,omitempty"`
	Spec   string    `json:"spec,omitempty"`
	Began  time.Time `json:"began,omitzero"`
	Tasks  int       `json:"tasks"`
	Done   int       `json:"done"` // of the tasks
}

// Names are the runs' names, in their order.
func (r Runs) Names() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(r.Dir, "*", AskedFile))
	var names []string
	for _, f := range files {
		if name := filepath.Base(filepath.Dir(f)); !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names, err
}

// folder is that of a run of this list.
func (r Runs) folder(name string) (string, error) {
	names, err := r.Names()
	if err != nil {
		return "", err
	}
	if !slices.Contains(names, name) {
		return "", problem(404, "there is no run %q; there are %s", clip(name), list(names))
	}
	return filepath.Join(r.Dir, name), nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return s
}

func list(names []string) string {
	switch {
	case len(names) == 0:
		return "none yet"
	case len(names) > 20:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:20], ", "), len(names)-20)
	}
	return strings.Join(names, ", ")
}

// List is all runs. One whose log cannot be read is among them, and says so.
func (r Runs) List(ctx context.Context) ([]Row, error) {
	names, err := r.Names()
	if err != nil {
		return nil, fmt.Errorf("list the runs in %s: %w", r.Dir, err)
	}
	rows := make([]Row, 0, len(names))
	for _, name := range names {
		row := r.row(ctx, name)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r Runs) row(ctx context.Context, name string) Row {
	folder := filepath.Join(r.Dir, name)
	row := Row{Name: name, Folder: folder}
	s, err := r.read(ctx, folder, Alive(folder), false)
	if err != nil {
		row.State, row.Why = Damaged, err.Error()
		return row
	}
	row.State, row.Why, row.Spec, row.Began, row.Tasks = s.State, s.Why, s.Run.Spec, s.Run.Began, len(s.Run.Tasks)
	for _, t := range s.Run.Tasks {
		if t.Outcome == swarm.Done {
			row.Done++
		}
	}
	return row
}

// read is a run as its log has it.
func (r Runs) read(ctx context.Context, folder string, running, full bool) (Status, error) {
	log, err := r.Open(ctx, filepath.Join(folder, LogFile))
	if err != nil {
		return Status{}, err
	}
	s, err := Resting(ctx, log, running, full)
	return s, errors.Join(err, log.Close())
}

// answerTime is how long the process of a run may take to say how it stands.
const answerTime = 5 * time.Second

// Status is a run as `dure swarm status --json` has it: what its process says, or its log
// where nobody runs it, or the process does not answer.
func (r Runs) Status(ctx context.Context, name string) (Status, error) {
	folder, err := r.folder(name)
	if err != nil {
		return Status{}, err
	}
	return r.Look(ctx, folder)
}

// Look is Status of the run in a folder, wherever that is.
func (r Runs) Look(ctx context.Context, folder string) (Status, error) {
	running := Alive(folder)
	if running {
		limited, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		if s, err := Dial(filepath.Join(folder, SocketFile)).Status(limited); err == nil {
			return s, nil
		}
	}
	return r.read(ctx, folder, running, true)
}

// Alive reports whether a process runs the run in a folder.
func Alive(folder string) bool {
	conn, err := net.DialTimeout("unix", filepath.Join(folder, SocketFile), time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// watchEvery is how often a follower looks whether the run is still run.
const watchEvery = 500 * time.Millisecond

// Follow yields the events of a run beyond a position, of one stream or (stream empty) of
// all, as they come, until nobody runs it any more and all was told. Errors are the last
// pair.
func (r Runs) Follow(ctx context.Context, name string, after event.Position, stream string) (iter.Seq2[event.Event, error], error) {
	folder, err := r.folder(name)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, LogFile)
	info, err := os.Stat(file)
	if err != nil {
		return nil, problem(409, "the run %s has no log: %v", name, errors.Unwrap(err))
	}
	log, err := r.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	head, err := log.Head(ctx)
	if err == nil && after > head {
		err = problem(400, "after %d: the log of %s ends at %d", after, name, head)
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	f := follower{log: log, folder: folder, file: file, info: info}
	return func(yield func(event.Event, error) bool) {
		defer log.Close()
		f.follow(ctx, after, func(e event.Event, err error) bool {
			return err == nil && stream != "" && e.Stream != stream || yield(e, err)
		})
	}, nil
}

// A follower reads one log for one reader.
type follower struct {
	log          event.Log
	folder, file string
	info         fs.FileInfo // of the log when it was opened
}

func (f follower) follow(ctx context.Context, at event.Position, yield func(event.Event, error) bool) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan struct{})
	go func() {
		defer close(over)
		f.wait(following)
		stop()
	}()
	for e, err := range f.log.FollowAll(following, at+1) {
		if err != nil {
			if following.Err() == nil || ctx.Err() != nil {
				yield(e, err)
				return
			}
			break
		}
		at = e.Position
		if !yield(e, nil) {
			return
		}
	}
	<-over
	for e, err := range f.log.ReadAll(ctx, at+1) { // what came while it was noticed
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// wait returns when nobody runs the run any more, or another one lies in its folder.
func (f follower) wait(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for ctx.Err() == nil && Alive(f.folder) {
		if now, err := os.Stat(f.file); err != nil || !os.SameFile(now, f.info) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
