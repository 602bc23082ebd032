package boardtest

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

	"dure/runtime/board"
)

// killedAgents work at once in a process that is going to be killed.
const killedAgents = 8

func killed(w int) board.Agent {
	return board.Agent{Name: fmt.Sprint("w", w), Crew: "c", Role: board.Worker}
}

// Work works on a board until it is killed, and tells out of all that was
// acknowledged, a line each:
//
//	note W N     agent W has inserted its N-th note
//	read W       it has read
//	said ID      an announcement was made
//	heard ID     it was delivered to the listener
//	seen ID      and acknowledged
func Work(b board.Board, out io.Writer) error {
	ctx := context.Background()
	var mu sync.Mutex
	tell := func(format string, args ...any) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := fmt.Fprintf(out, format+"\n", args...)
		return err
	}
	failed := make(chan error, killedAgents+2)
	start := func(a board.Agent, do func(g board.Gateway, n int64) error) {
		g, err := b.Join(ctx, a)
		if err != nil {
			failed <- err
			return
		}
		r, err := g.Do(ctx, board.Statement{SQL: "select count(*) from notes where agent = me()"})
		if err != nil {
			failed <- err
			return
		}
		for n := r.Rows[0][0].(int64); err == nil; n++ {
			err = do(g, n)
		}
		failed <- err
	}
	for w := range killedAgents {
		go start(killed(w), func(g board.Gateway, n int64) error { return work(ctx, g, w, n, tell) })
	}
	go start(board.Agent{Name: "speaker", Role: board.Worker}, func(g board.Gateway, _ int64) error {
		r, err := g.Do(ctx, board.Statement{SQL: "insert into announce (body) values ('news') returning id"})
		if err != nil {
			return err
		}
		return tell("said %d", r.Rows[0][0])
	})
	go start(board.Agent{Name: "listener", Role: board.Worker}, func(g board.Gateway, _ int64) error { return listen(ctx, g, tell) })
	return <-failed
}

func work(ctx context.Context, g board.Gateway, w int, n int64, tell func(string, ...any) error) error {
	if _, err := g.Do(ctx, board.Statement{SQL: "insert into notes (topic, body) values ('t', $1)", Args: []any{fmt.Sprint(n)}}); err != nil {
		return err
	}
	if err := tell("note %d %d", w, n); err != nil {
		return err
	}
	if _, err := g.Do(ctx, board.Statement{SQL: "select id from landed"}); err != nil {
		return err
	}
	return tell("read %d", w)
}

func listen(ctx context.Context, g board.Gateway, tell func(string, ...any) error) error {
	all, err := g.Announced(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, a := range all {
		if err := tell("heard %d", a.ID); err != nil {
			return err
		}
	}
	last := all[len(all)-1].ID
	if err := g.Acknowledge(ctx, last); err != nil {
		return err
	}
	return tell("seen %d", last)
}

// told is what processes told before they were killed.
type told struct {
	notes, reads map[int]int64
	said         map[int64]bool
	heard        int64 // the last
	seen         int64
	lives, saids int64
}

// KillMany kills one process after the other that Works on the same board, and
// checks after each what is there. start makes such a process.
func KillMany(t *testing.T, rounds int, p Place, start func() *exec.Cmd) {
	k := &told{notes: make(map[int]int64), reads: make(map[int]int64), said: make(map[int64]bool)}
	b := p.Open(t, Options{})
	for w := range killedAgents {
		join(t, b, killed(w))
	}
	join(t, b, board.Agent{Name: "speaker", Role: board.Worker})
	join(t, b, board.Agent{Name: "listener", Role: board.Worker})
	closeIt(t, b)
	for range rounds {
		k.kill(t, start())
		k.lives++
		b := p.Open(t, Options{})
		k.check(t, b)
		if k.lives%10 == 0 || int(k.lives) == rounds { // it takes the longer the more there is
			rebuilt(t, p, b)
		} else {
			closeIt(t, b)
		}
		if t.Failed() {
			return
		}
	}
	var sum int64
	for _, n := range k.notes {
		sum += n
	}
	t.Logf("%d kills, %d acknowledged notes and %d announcements, all there; heard up to %d, each once", rounds, sum, k.saids, k.heard)
}

// kill lets a process work for a while and kills it at some moment.
func (k *told) kill(t *testing.T, cmd *exec.Cmd) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, after := 0, 1+rand.IntN(400)
	for scan := bufio.NewScanner(out); scan.Scan(); lines++ {
		k.line(t, scan.Text())
		if lines == after {
			// Somewhere within a write; that the moment is any is the point.
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if lines <= after {
		t.Fatalf("the process ended by itself after %d lines", lines)
	}
}

func (k *told) line(t *testing.T, line string) {
	var kind string
	var a, b int64
	if n, err := fmt.Sscan(line, &kind, &a, &b); n < 2 {
		t.Logf("the process says %s (%v)", line, err)
		return
	}
	switch kind {
	case "note":
		k.notes[int(a)] = b + 1
	case "read":
		k.reads[int(a)]++
	case "said":
		k.said[a] = true
		k.saids++
	case "heard":
		if a <= k.seen {
			t.Errorf("announcement %d came again after %d was acknowledged", a, k.seen)
		}
		k.heard = max(k.heard, a)
	case "seen":
		k.seen = a
	}
}

// check compares what is there with what was acknowledged.
func (k *told) check(t *testing.T, b board.Board) {
	counts, err := b.Counts(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[board.Use]int64)
	for _, c := range counts {
		count[c.Use] = c.N
	}
	g := join(t, b, lead)
	for w := range killedAgents {
		name := killed(w).Name
		r := rows(t, g, "select count(*), coalesce(min(cast(body as integer)), 0), coalesce(max(cast(body as integer)), -1), count(distinct body) from notes where agent = $1", name)[0]
		n := r[0].(int64)
		if r[1] != int64(0) || r[2] != n-1 || r[3] != n || n < k.notes[w] || n > k.notes[w]+1 {
			t.Errorf("%s: %d notes were acknowledged, there are %v", name, k.notes[w], r)
		}
		if back := rows(t, g, "select count(*) from notes a join notes b on a.agent = b.agent and b.id > a.id and cast(b.body as integer) <= cast(a.body as integer) and b.id < a.id + 30 where a.agent = $1 and a.id > (select max(id) from notes) - 1000", name); back[0][0] != int64(0) {
			t.Errorf("%s: %v notes are out of order", name, back[0][0])
		}
		k.notes[w] = n
		if c := count[board.Use{Agent: name, Table: board.Notes, Kind: board.Write}]; c != n {
			t.Errorf("%s: %d writes are counted, there are %d rows", name, c, n)
		}
		if c := count[board.Use{Agent: name, Table: board.Landed, Kind: board.Read}]; c < k.reads[w] || c > k.reads[w]+k.lives {
			t.Errorf("%s: %d reads are counted, %d were answered in %d lives", name, c, k.reads[w], k.lives)
		}
	}
	for _, r := range rows(t, g, "select id from announce order by id desc limit 2000") {
		delete(k.said, r[0].(int64))
	}
	if len(k.said) > 0 {
		t.Errorf("announcements %v were acknowledged and are gone", k.said)
	}
	next, err := join(t, b, board.Agent{Name: "listener", Role: board.Worker}).Announced(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(next) > 0 && next[0].ID <= k.seen {
		t.Errorf("%d was acknowledged, %d would come next", k.seen, next[0].ID)
	}
	if len(next) > 0 {
		between := rows(t, g, "select count(*) from announce where id > $1 and id < $2", k.seen, next[0].ID)
		// What was acknowledged just before the kill may not have been told.
		if between[0][0].(int64) > 0 && next[0].ID > k.heard+1 {
			t.Errorf("%v announcements between %d and %d were never delivered", between[0][0], k.seen, next[0].ID)
		}
	}
}
