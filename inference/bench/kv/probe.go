package kv

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"dure/inference/engine"
)

// reference is what the full cache says of the tokens that follow a context.
type reference struct {
	rows    [][]float32 // logarithms of probabilities
	best    []int
	logprob float64
}

// reset makes room for the rows of n tokens of a vocabulary; their memory is used again.
func (f *reference) reset(n, vocabulary int) {
	if len(f.rows) != n || len(f.rows[0]) != vocabulary {
		f.rows, f.best = make([][]float32, n), make([]int, n)
		all := make([]float32, n*vocabulary)
		for i := range f.rows {
			f.rows[i] = all[i*vocabulary : (i+1)*vocabulary : (i+1)*vocabulary]
		}
	}
	f.logprob = 0
}

// learn reads the tokens that follow on the full cache. The last one's successor is
// not known, and its row counts for the divergence only.
func (f *reference) learn(ctx context.Context, l *line, follow []engine.Token, vocabulary int) error {
	f.reset(len(follow), vocabulary)
	err := l.scoreRows(ctx, follow, 0, func(first int, rows [][]float32) {
		parallel(len(rows), func(i int) {
			logSoftmax(f.rows[first+i], rows[i])
			f.best[first+i] = likeliest(rows[i])
		})
	})
	for i, next := range follow[1:] {
		f.logprob += float64(f.rows[i][next]) / float64(len(follow)-1)
	}
	return err
}

// compared is what one row gave.
type compared struct {
	divergence, logprob float64
	same                bool
}

// compare reads the same tokens on another cache.
func (f *reference) compare(ctx context.Context, l *line, follow []engine.Token, s *Sample) error {
	got := make([]compared, len(follow))
	err := l.scoreRows(ctx, follow, 0, func(first int, rows [][]float32) {
		parallel(len(rows), func(i int) {
			at, logits := first+i, rows[i]
			got[at] = compared{divergence: divergence(f.rows[at], logits), same: likeliest(logits) == f.best[at]}
			if at+1 < len(follow) {
				got[at].logprob = logprob(logits, follow[at+1])
			}
		})
	})
	if err != nil {
		return err
	}
	s.FullLogprob = f.logprob
	for _, c := range got {
		s.add(c.divergence, c.same)
		s.Logprob += c.logprob / float64(len(follow)-1)
	}
	return nil
}

// parallel calls do with 0 to n-1, on all cores: rows of large vocabularies take as long
// to compare as to compute. The engine waits meanwhile.
func parallel(n int, do func(i int)) {
	var wait sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wait.Wait()
}

const (
	// repeatCue tokens of a piece of the context are given, repeatSpan are then to come.
	repeatCue  = 16
	repeatSpan = 64
	repeatAsk  = "\n\nThe following passage stands above, word for word:\n\n"
)

// repeatLogprob is the mean logarithm of the probability of the spans of a context that
// begin at some places, when they are written again.
func (r *rig) repeatLogprob(ctx context.Context, l *line, state []byte, context []engine.Token, starts []int) (float64, error) {
	ask, err := r.tokens(ctx, repeatAsk, false)
	if err != nil || len(starts) == 0 {
		return 0, err
	}
	end, sum := l.end, 0.0
	for _, at := range starts {
		span := context[at : at+repeatCue+repeatSpan]
		tokens := append(append([]engine.Token{}, ask...), span...)
		from := len(ask) + repeatCue - 1
		err := l.score(ctx, tokens[:len(tokens)-1], from, func(i int, logits []float32) {
			sum += logprob(logits, tokens[i+1])
		})
		if err != nil {
			return 0, err
		}
		if err := l.rewind(end, state); err != nil {
			return 0, err
		}
	}
	return sum / float64(len(starts)*repeatSpan), nil
}

// generous tokens more than the right answer has may be written.
const generous = 8

// ask asks a question behind what a line holds, and takes it back. Where the right
// answer is the likeliest token by token it is what is written; else the likeliest is
// written out, up to a line's end.
func (r *rig) ask(ctx context.Context, l *line, state []byte, q Question) (out outcome, err error) {
	tail, err := r.tokens(ctx, q.Ask, false)
	if err != nil {
		return out, err
	}
	answer, err := r.tokens(ctx, q.Answer, false)
	if err != nil {
		return out, err
	}
	if len(answer) == 0 {
		return out, fmt.Errorf("the answer %q has no tokens", q.Answer)
	}
	end := l.end
	tokens := append(append([]engine.Token{}, tail...), answer...)
	from, right := len(tail)-1, true
	err = l.score(ctx, tokens[:len(tokens)-1], from, func(i int, logits []float32) {
		out.logprob += logprob(logits, tokens[i+1]) / float64(len(answer))
		right = right && likeliest(logits) == int(tokens[i+1])
	})
	if err != nil {
		return out, err
	}
	if err := l.rewind(end, state); err != nil {
		return out, err
	}
	if right {
		out.found = 1
		return out, nil
	}
	text, err := r.write(ctx, l, tail, len(answer)+generous)
	if err != nil {
		return out, err
	}
	out.found = found(text, q.Want)
	return out, l.rewind(end, state)
}

// write goes on with the likeliest tokens.
func (r *rig) write(ctx context.Context, l *line, tail []engine.Token, most int) (string, error) {
	var text strings.Builder
	vocabulary := r.model.Vocabulary()
	next := tail
	for range most {
		best := 0
		err := l.score(ctx, next, len(next)-1, func(_ int, logits []float32) { best = likeliest(logits) })
		if err != nil {
			return "", err
		}
		token := engine.Token(best)
		if vocabulary.IsEOG(token) {
			break
		}
		text.WriteString(vocabulary.Piece(token, false))
		if strings.Contains(strings.TrimLeft(text.String(), " \n"), "\n") {
			break
		}
		next = []engine.Token{token}
	}
	return text.String(), nil
}
