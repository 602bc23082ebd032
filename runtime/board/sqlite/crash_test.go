package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
)

// TestChild is no test but the process that is killed.
func TestChild(t *testing.T) {
	if *childDir == "" {
		return
	}
	log := openLog(t, filepath.Join(*childDir, "events.db"))
	b := openBoard(t, filepath.Join(*childDir, "board.db"), log, boardtest.Options{Limits: func(l *board.Limits) { l.PerMinute = 1_000_000 }})
	t.Fatal(boardtest.Work(b, os.Stdout))
}

// Killed at any moment (row 19): what was acknowledged is there, in order and
// counted; tables equal the log.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	boardtest.KillMany(t, *kills, placeIn(t, dir), func() *exec.Cmd {
		cmd := exec.Command(exe, "-test.run=^TestChild$", "-child="+dir)
		cmd.Stderr = os.Stderr
		return cmd
	})
}
