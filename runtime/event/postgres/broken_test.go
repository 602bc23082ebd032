package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"dure/runtime/event"
	"dure/runtime/event/eventtest"
	"dure/runtime/event/pgtest"
)

// A breaker makes connections of which one breaks at a given use: a write that is
// not sent, a write that is sent and not answered, an answer that is lost.
type breaker struct {
	uses atomic.Int64 // left before it breaks
	late bool         // the use that breaks still happens on the other side
}

var errBroken = errors.New("the line is cut")

func (b *breaker) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &line{Conn: c, breaker: b}, nil
}

type line struct {
	net.Conn
	*breaker
}

func (l *line) Write(p []byte) (int, error) {
	if l.uses.Add(-1) != 0 {
		return l.Conn.Write(p)
	}
	if l.late {
		_, _ = l.Conn.Write(p)
	}
	_ = l.Close()
	return 0, errBroken
}

func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if l.uses.Add(-1) != 0 {
		return n, err
	}
	_ = l.Close()
	return 0, errBroken
}

// Wherever the connection breaks, each append happens once and its caller is told
// the truth.
func testBrokenConnections(t *testing.T, server *pgtest.Server) {
	const appends = 4
	url, broken := server.Database(t), 0
	for use := int64(1); ; use++ {
		ended := true
		for _, late := range []bool{false, true} {
			b := &breaker{late: late}
			b.uses.Store(1 << 40) // opening is another matter
			stream := fmt.Sprint(use, late)
			log, err := open(context.Background(), Config{URL: url}, ground{steps: migrations, dial: b.dial})
			if err != nil {
				t.Fatal(err)
			}
			b.uses.Store(use)
			for n := range appends {
				seq, err := log.Append(context.Background(), stream, event.Sequence(n), eventtest.Number(0, n))
				if err != nil || seq != event.Sequence(n+1) {
					t.Errorf("break at use %d, late %t: append %d: %d, %v", use, late, n+1, seq, err)
				}
			}
			whole(t, log)
			if got, err := log.Last(context.Background(), stream); err != nil || got != appends {
				t.Errorf("break at use %d, late %t: %d events, want %d, %v", use, late, got, appends, err)
			}
			if b.uses.Load() <= 0 {
				ended = false
				broken++
			}
			if err := log.Close(); err != nil && b.uses.Load() != 0 && !errors.Is(err, errBroken) {
				t.Error(err)
			}
		}
		if ended || t.Failed() {
			break
		}
	}
	t.Logf("broken at %d uses", broken)
	if broken < 8 {
		t.Errorf("broken %d times only", broken)
	}
}
