package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// stream passes on what a command writes, up to a limit, and counts the rest.
type stream struct {
	from          *os.File
	to            io.Writer
	limit         int64 // -1: none
	turn          *sync.Mutex
	total, passed int64
	err           error
	end           chan struct{}
}

// copy runs until nobody can write any more. It reads on beyond the limit and after
// an error of the writer, so that the command does not hang.
func (s *stream) copy() {
	defer close(s.end)
	defer s.from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := s.from.Read(buf)
		s.total += int64(n)
		pass := int64(n)
		if s.limit >= 0 {
			pass = min(pass, s.limit-s.passed)
		}
		if pass > 0 && s.err == nil {
			s.turn.Lock()
			_, s.err = s.to.Write(buf[:pass])
			s.turn.Unlock()
			s.passed += pass
		}
		if err != nil {
			// io.EOF, or the deadline: either way nothing comes any more.
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && s.err == nil {
				s.err = err
			}
			return
		}
	}
}

// lingering is how long after a command's end its streams may stay open: another
// command of the same box can have taken hold of them.
const lingering = 2 * time.Second

// finish waits for the end of a stream whose command is gone.
func (s *stream) finish() {
	_ = s.from.SetReadDeadline(time.Now().Add(lingering)) // a closed one has ended
	<-s.end
}

// feed gives a command its input. A command need not read it.
func feed(to *os.File, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}
