package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path"
	"strings"
	"sync"
)

// Name is the program that git runs for addresses that begin with dure::.
const Name = "git-remote-dure"

// A Call is how git calls its helper.
type Call struct {
	Args   []string // the remote's name or address, and the address behind dure::
	Socket string   // path of the agent's socket
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Run serves one call to its end. Errors of git itself are *exec.ExitError, and have
// been told by it.
func Run(ctx context.Context, c Call) error {
	if len(c.Args) != 2 {
		return fmt.Errorf("%s is called by git; say git clone dure::/git", Name)
	}
	where := c.Args[1]
	if !strings.HasPrefix(where, "/") || path.Clean(where) != where {
		return fmt.Errorf("address dure::%s: want the path of a repository behind the socket, as in dure::/git", where)
	}
	if c.Socket == "" {
		return errors.New("DURE_SOCKET is not set: it names the agent's socket, and commands have it in a sandbox of rung full (dure doctor says which this machine allows)")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen at the loopback of the sandbox: %w; without one, git reaches no repository", err)
	}
	passed := make(chan error, 1)
	go func() { passed <- pass(ctx, l, c.Socket) }()
	// A proxy that somebody has set up leads nowhere from here.
	git := exec.CommandContext(ctx, "git", "-c", "http.proxy=", "remote-http", c.Args[0], "http://"+l.Addr().String()+where)
	git.Stdin, git.Stdout, git.Stderr = c.Stdin, c.Stdout, c.Stderr
	err = git.Run()
	_ = l.Close() // which ends pass
	if lost := <-passed; lost != nil {
		return fmt.Errorf("reach the repository: %w", lost)
	}
	return err
}

// pass gives every connection one to the socket, until the listener is closed. Its
// error is that the socket could not be reached.
func pass(ctx context.Context, l net.Listener, socket string) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	lost := make(chan error, 1)
	for {
		from, err := l.Accept()
		if err != nil {
			break
		}
		all.Go(func() {
			if err := passOne(ctx, from.(*net.TCPConn), socket); err != nil {
				select {
				case lost <- err:
				default: // one is enough
				}
			}
		})
	}
	cancel()
	all.Wait()
	close(lost)
	return <-lost
}

// half is a connection of which one direction can be ended.
type half interface {
	net.Conn
	CloseWrite() error
}

// passOne copies both ways. What fails on the way is told by closing: that is what
// git sees.
func passOne(ctx context.Context, from half, socket string) error {
	defer from.Close()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	to := conn.(half)
	defer to.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { copyAll(to, from) })
	copyAll(from, to)
	both.Wait()
	return nil
}

func copyAll(to, from half) {
	if _, err := io.Copy(to, from); err != nil {
		_ = from.Close() // so that its other side stops sending
	}
	_ = to.CloseWrite()
}
