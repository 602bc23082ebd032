package eventtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"sync"
	"testing"
	"time"

	"dure/runtime/event"
)

// killedWriters append at once in a process that is going to be killed.
const killedWriters = 8

// Write appends until it is killed, with many writers, and tells out of every
// acknowledged append: "ack WRITER N STREAM SEQUENCE". The streams are one of each
// writer's own, with expected sequences, and one that all share.
func Write(log event.Log, out io.Writer) error {
	ctx := context.Background()
	base, err := log.Head(ctx) // no two lives have the same writers
	if err != nil {
		return err
	}
	var mu sync.Mutex
	failed := make(chan error, killedWriters)
	for i := range killedWriters {
		w := int(base)*killedWriters + i
		go func() {
			for n := 0; ; n++ {
				stream, expected := "shared", event.Any
				if n%2 == 0 {
					stream, expected = fmt.Sprint("own", w), event.Sequence(n/2)
				}
				seq, err := log.Append(ctx, stream, expected, Number(w, n))
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				_, err = fmt.Fprintln(out, "ack", w, n, stream, seq)
				mu.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// An Ack is what was acknowledged to a writer.
type Ack struct {
	Writer, N int
	Stream    string
	Sequence  event.Sequence
}

// Kill starts a process that Writes, kills it (with kill, or it itself if that is
// nil) within what follows some of its acknowledgements, and returns all that it
// told.
func Kill(t testing.TB, cmd *exec.Cmd, kill func() error) []Ack {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if kill == nil {
		kill = cmd.Process.Kill
	}
	var acks []Ack
	after := 1 + rand.IntN(400)
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var a Ack
		if _, err := fmt.Sscanf(scan.Text(), "ack %d %d %s %d", &a.Writer, &a.N, &a.Stream, &a.Sequence); err != nil {
			t.Logf("the child says %s", scan.Text())
			continue
		}
		if acks = append(acks, a); len(acks) == after {
			// Somewhere within an append; that the moment is any is the point.
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			if err := kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if len(acks) < after {
		t.Fatalf("the child ended by itself after %d acknowledgements", len(acks))
	}
	return acks
}

// CheckAcks reports what a log lacks of what was acknowledged, or has too much:
// of each writer all acknowledged events are there, at their place, in the order
// they were appended, and beyond them at most the one that was under way.
func CheckAcks(events []event.Event, acks []Ack) error {
	if err := Check(events); err != nil {
		return err
	}
	place := make(map[string]event.Event)
	next := make(map[int]int)
	for _, e := range events {
		place[string(e.Payload)] = e
		var w, n int
		if _, err := fmt.Sscanf(string(e.Payload), `{"writer":%d,"n":%d}`, &w, &n); err != nil {
			return fmt.Errorf("position %d: payload %q: %w", e.Position, e.Payload, err)
		}
		if n != next[w] {
			return fmt.Errorf("position %d: writer %d goes to %d, next is %d", e.Position, w, n, next[w])
		}
		next[w]++
	}
	acked := make(map[int]int)
	for _, a := range acks {
		e, ok := place[string(Number(a.Writer, a.N).Payload)]
		if !ok || e.Stream != a.Stream || e.Sequence != a.Sequence {
			return fmt.Errorf("acknowledged %+v, the log has %+v (%t)", a, e, ok)
		}
		acked[a.Writer] = max(acked[a.Writer], a.N+1)
	}
	for w, n := range next {
		if n > acked[w]+1 {
			return fmt.Errorf("writer %d: %d acknowledged, %d there", w, acked[w], n)
		}
	}
	return nil
}

// KillMany kills one writer after the other on the same log and checks what is
// there after each. start makes a process that opens the log and Writes.
func KillMany(t *testing.T, rounds int, p Place, start func() *exec.Cmd) {
	var acks []Ack
	extra := 0
	for round := range rounds {
		acks = append(acks, Kill(t, start(), nil)...)
		log := p.Open(t)
		events := all(t, log)
		if err := CheckAcks(events, acks); err != nil {
			t.Fatalf("kill %d: %v", round+1, err)
		}
		extra = len(events) - len(acks)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d acknowledged events, all there; %d more were under way", rounds, len(acks), extra)
}
