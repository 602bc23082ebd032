package speech_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"dure/audio/speech"
)

// The test program is its own child, and the parent of one.
const (
	childArg  = "speech-child"
	parentArg = "speech-parent"
)

// parent starts a child, writes its process id and waits to be killed.
func parent() {
	self, err := os.Executable()
	if err == nil {
		var c *speech.Child
		if c, err = speech.Start(context.Background(), speech.Command{Args: []string{self, childArg}, Env: os.Environ()}, speech.Config{}); err == nil {
			fmt.Println(c.PID())
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := speech.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == parentArg {
		parent()
	}
	code := m.Run()
	if shared.e != nil {
		shared.e.Close()
	}
	os.Exit(code)
}

// shared are the engines of all tests.
var shared struct {
	once sync.Once
	e    *speech.Engines
}

func command(t testing.TB) speech.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return speech.Command{Args: []string{self, childArg}, Env: os.Environ(), Log: os.Stderr}
}
