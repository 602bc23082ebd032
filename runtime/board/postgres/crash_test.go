package postgres

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
	"dure/runtime/event/pgtest"
)

var (
	childURL = flag.String("board", "", "the board of a child")
	crashes  = flag.Int("crashes", 3, "how often a gateway is killed, and how often the server")
)

const killedAgents = 8

// agents write, claim and announce until something fails, and tell out of each note
// that was acknowledged. No two lives have the same agents.
func agents(b board.Board, life int, out io.Writer) error {
	ctx := context.Background()
	var mu sync.Mutex
	failed := make(chan error, killedAgents)
	for w := range killedAgents {
		name := fmt.Sprintf("agent-%d-%d", life, w)
		g, err := b.Join(ctx, board.Agent{Name: name, Crew: "c", Role: board.Worker})
		if err != nil {
			return err
		}
		go func() {
			for n := 0; ; n++ {
				if err := oneNote(ctx, g, n); err != nil {
					failed <- err
					return
				}
				mu.Lock()
				_, err := fmt.Fprintln(out, "ack", name, n)
				mu.Unlock()
				if err == nil {
					err = others(ctx, g, n)
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

func oneNote(ctx context.Context, g board.Gateway, n int) error {
	_, err := g.Do(ctx, board.Statement{SQL: "insert into notes (topic, body) values ($1, $2)", Args: []any{g.Agent().Name, fmt.Sprint(n)}})
	return err
}

// others is what agents do besides.
func others(ctx context.Context, g board.Gateway, n int) error {
	var err error
	switch n % 4 {
	case 0:
		_, err = g.Do(ctx, board.Statement{SQL: "insert into subtasks (title, priority) values ('part', $1)", Args: []any{int64(n % 3)}})
	case 1:
		_, err = g.Claim(ctx, board.Claim{Table: board.Subtasks})
	case 2:
		_, err = g.Do(ctx, board.Statement{SQL: "update subtasks set state = 'done', result = 'r' where holder = me()"})
	default:
		_, err = g.Do(ctx, board.Statement{SQL: "insert into announce (body) values ('news')"})
	}
	return err
}

// acks reads what was acknowledged: how many notes of each agent.
func acks(t testing.TB, in io.Reader, each func(total int)) map[string]int {
	t.Helper()
	got, total := make(map[string]int), 0
	for scan := bufio.NewScanner(in); scan.Scan(); {
		var name string
		var n int
		if _, err := fmt.Sscanf(scan.Text(), "ack %s %d", &name, &n); err != nil {
			t.Logf("the child says %s", scan.Text())
			continue
		}
		got[name] = n + 1
		total++
		each(total)
	}
	return got
}

// A tally is what was found of each agent's notes up to a row.
type tally struct {
	after int64
	next  map[string]int
}

// checkNotes finds what a board lacks of what was acknowledged, or has too much: of
// each agent all acknowledged notes, in order, and at most one more.
func checkNotes(t testing.TB, b board.Board, acked map[string]int) {
	t.Helper()
	(&tally{next: make(map[string]int)}).check(t, b, acked)
}

// check goes on from where it was; that all before is still there is known by its count.
func (c *tally) check(t testing.TB, b board.Board, acked map[string]int) {
	t.Helper()
	ctx := context.Background()
	g, err := b.Join(ctx, board.Agent{Name: "checker", Role: board.Lead})
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := g.Do(ctx, board.Statement{SQL: "select id, agent, topic, body from notes where id > $1 order by id limit 5000", Args: []any{c.after}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rows) == 0 {
			break
		}
		for _, row := range r.Rows {
			c.after = row[0].(int64)
			name := row[1].(string)
			if row[2] != name || row[3] != fmt.Sprint(c.next[name]) {
				t.Fatalf("row %v, want number %d of %s", row, c.next[name], name)
			}
			c.next[name]++
		}
	}
	total := 0
	for _, n := range c.next {
		total += n
	}
	r, err := g.Do(ctx, board.Statement{SQL: "select count(*) from notes"})
	if err != nil || fmt.Sprint(r.Rows) != fmt.Sprintf("[[%d]]", total) {
		t.Fatalf("%d rows were found, there are %v, %v", total, r.Rows, err)
	}
	for name, n := range acked {
		if c.next[name] < n || c.next[name] > n+1 {
			t.Fatalf("%s: %d acknowledged, %d there", name, n, c.next[name])
		}
	}
}

// sameAfterRebuild closes a board and compares it with one made anew of its log.
func sameAfterRebuild(t testing.TB, url string) {
	t.Helper()
	log := openLog(t, url)
	dump := func() []byte {
		b, err := Open(context.Background(), Config{URL: url, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		counts, err := b.Counts(context.Background())
		if folded := boardtest.Folded(t, log); err != nil || !reflect.DeepEqual(counts, folded) {
			t.Fatalf("counts %v, %v, the whole log says %v", counts, err, folded)
		}
		if err := errors.Join(b.Dump(context.Background(), &out), b.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	before := dump()
	rebuild(t, url, log)
	if !bytes.Equal(dump(), before) {
		t.Fatal("tables made anew from the log differ")
	}
}

// TestChild is no test but the process that testKilledGateway kills.
func TestChild(t *testing.T) {
	if *childURL != "" {
		t.Fatal(agents(openBoard(t, *childURL, openLog(t, *childURL), boardtest.Options{Limits: freely}), os.Getpid(), os.Stdout))
	}
}

func freely(l *board.Limits) { l.PerMinute = 1 << 30 }

// Row 19: the gateway's process is killed at any moment.
func testKilledGateway(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	all, found := make(map[string]int), tally{next: make(map[string]int)}
	total := 0
	for range *crashes {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestChild$", "-board="+url)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := 1 + rand.IntN(300)
		got := acks(t, out, func(n int) {
			if n == after {
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond) // any moment
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
		})
		_ = cmd.Wait() // it was killed
		for name, n := range got {
			all[name] = n
			total += n
		}
		log := openLog(t, url)
		b := openBoard(t, url, log, boardtest.Options{Limits: freely})
		found.check(t, b, got)
		if err := errors.Join(b.Close(), log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	b := openBoard(t, url, openLog(t, url), boardtest.Options{})
	checkNotes(t, b, all)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if total < *crashes {
		t.Errorf("%d acknowledged in all", total)
	}
	sameAfterRebuild(t, url)
	t.Logf("%d kills of the gateway, %d acknowledged notes, all there, in order", *crashes, total)
}

// Row 19: the server is killed at any moment; the same gateway goes on when it is
// back.
func testKilledServer(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	log := openLog(t, url)
	b := openBoard(t, url, log, boardtest.Options{Limits: freely})
	all, found := make(map[string]int), tally{next: make(map[string]int)}
	total := 0
	for life := range *crashes {
		in, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := agents(b, life, out)
			out.Close()
			ended <- err
		}()
		after, killed := 1+rand.IntN(300), make(chan error, 1)
		got := acks(t, in, func(n int) {
			if n == after {
				go func() {
					time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
					killed <- server.Kill()
				}()
			}
		})
		t.Logf("the gateway said: %v", <-ended)
		if err := errors.Join(<-killed, server.Run()); err != nil {
			t.Fatal(err)
		}
		for name, n := range got {
			all[name] = n
			total += n
		}
		found.check(t, b, got)
	}
	checkNotes(t, b, all)
	if err := errors.Join(b.Close(), log.Close()); err != nil {
		t.Error(err)
	}
	sameAfterRebuild(t, url)
	t.Logf("%d kills of the server, %d acknowledged notes, all there, in order", *crashes, total)
}
