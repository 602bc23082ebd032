package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Superuser is the role that owns the server of a test.
const Superuser = "postgres"

// How long a server may take to answer, or to end.
const patience = 60 * time.Second

// A Server is a PostgreSQL that belongs to a test.
type Server struct {
	bin, dir string // programs; folder of data and socket
	attr     *syscall.SysProcAttr
	out      bytes.Buffer  // of the running server; read when it has ended
	process  *os.Process   // nil: it does not run
	ended    chan struct{} // closed when the process has ended
	made     atomic.Int64  // databases
}

// start makes a new data folder and starts a server on it.
func start(bin string) (*Server, error) {
	// Not below the test's folder: a socket's path has at most 107 bytes.
	dir, err := os.MkdirTemp(place(), "pgtest")
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	s := &Server{bin: bin, dir: dir}
	if err := s.build(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// memory is where files lie in memory, and roomy what must be free there. Tests kill
// the server and never the machine, so that what it flushes needs no disk; and on one a
// start after a kill waits for whatever else is being written there.
const (
	memory = "/dev/shm"
	roomy  = 4 << 30
)

// place is where the folder is made, empty for the usual place.
func place() string {
	var fs syscall.Statfs_t
	if syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < roomy {
		return ""
	}
	return memory
}

func (s *Server) build() error {
	cred, err := unprivileged()
	if err != nil {
		return err
	}
	s.attr = &syscall.SysProcAttr{Credential: cred}
	if cred != nil {
		if err := os.Chown(s.dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return fmt.Errorf("pgtest: %w", err)
		}
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", Superuser,
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.SysProcAttr, initdb.Dir = s.attr, s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	return s.Run()
}

// unprivileged is who the server runs as: it refuses to be root. nil: who we are.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("pgtest: user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("pgtest: user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("pgtest: neither a user postgres nor nobody to run the server as")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Run starts the server again after Kill, and waits until it answers.
func (s *Server) Run() error {
	// After a crash the server would flush every file of every database one by one.
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-h", "", "-p", "5432",
		"-c", "recovery_init_sync_method=syncfs")
	attr := *s.attr
	// Should the test die, the server ends and removes what it shares. Its parent is
	// the thread that starts it, which therefore must stay.
	attr.Pdeathsig = syscall.SIGQUIT
	cmd.SysProcAttr, cmd.Dir = &attr, s.dir
	s.out.Reset()
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	started := make(chan error)
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // what it says is in out
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("pgtest: start: %w", err)
	}
	s.process, s.ended = cmd.Process, ended
	return s.answers()
}

func (s *Server) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres", Superuser))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.ended:
			s.process = nil
			return fmt.Errorf("pgtest: the server ended\n%s", s.out.Bytes())
		case <-ctx.Done():
			return fmt.Errorf("pgtest: the server does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill ends the server as a crash would: it finishes and flushes nothing.
func (s *Server) Kill() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(syscall.SIGQUIT); err != nil {
		return fmt.Errorf("pgtest: kill: %w", err)
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		return errors.New("pgtest: kill: the server does not end")
	}
	s.process = nil
	return nil
}

func (s *Server) remove() {
	_ = s.Kill()
	_ = os.RemoveAll(s.dir)
}

// URL is how to connect to a database as a role.
func (s *Server) URL(database, role string) string {
	u := url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: url.Values{
		"host": {s.dir}, "port": {"5432"}, "user": {role}}.Encode()}
	return u.String()
}

// Database makes a new database and returns its URL for the superuser.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.made.Add(1))
	s.Exec(t, s.URL("postgres", Superuser), "create database "+name)
	return s.URL(name, Superuser)
}

// Exec runs statements on a connection of its own.
func (s *Server) Exec(t testing.TB, url string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
