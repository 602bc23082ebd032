package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"dure/audio/turn"
	"dure/audio/voice"
)

// spokenTurn is a turn of the corpus for the end of turns. What stands before and after
// the pause is synthesised apart, so that the length of the pause is exact; a complete turn
// has no second half.
type spokenTurn struct {
	first, second string
	pause         time.Duration
}

// corpus gives at most most turns, a paused one and a complete one in turns.
func corpus(most int) []spokenTurn {
	var all []spokenTurn
	for i := 0; i < max(len(pausedTurns), len(completeTurns)) && len(all) < most; i++ {
		if i < len(pausedTurns) {
			all = append(all, spokenTurn{pausedTurns[i][0], pausedTurns[i][1], pauseOf(i)})
		}
		if i < len(completeTurns) && len(all) < most {
			all = append(all, spokenTurn{first: completeTurns[i]})
		}
	}
	return all
}

// pauseOf spreads the pauses evenly over 200 to 600 ms, in steps of 50, in mixed order.
func pauseOf(i int) time.Duration {
	return 200*time.Millisecond + time.Duration(i*4%9)*50*time.Millisecond
}

// spoken synthesises a turn: voices and speeds differ, and every third one has louder noise.
// Who pauses to think does not lower their voice as at the end of a sentence: a comma says
// so to the synthesiser.
func (b *voiceBench) spoken(ctx context.Context, n int, t spokenTurn) (f spokenFixture, err error) {
	voices := slices.DeleteFunc(slices.Clone(b.engines.Voices()), func(v string) bool { return v == "espeak" })
	if len(voices) == 0 {
		voices = b.engines.Voices()
	}
	f.voice = voices[n/2%len(voices)]
	speed := []float64{1, 0.9, 1.1, 1.2}[n/2%4]
	f.text, f.pause = t.first+" "+t.second, t.pause
	first := t.first
	if t.second != "" && !strings.HasSuffix(first, ",") {
		first += ","
	}
	said, err := b.halves(ctx, f, first, t.second, speed)
	loud := []float64{0.002, 0.002, 0.008}[n%3] // about 30 and 20 dB below speech
	f.lay(said, rand.New(rand.NewPCG(uint64(n), 11)), loud)
	return f, err
}

// atOnce is how many conversations of the corpus are held at the same time: most of each is
// waiting for the real clock.
const atOnce = 3

// playCorpus holds a conversation of one turn for each of the corpus, in order.
func (b *voiceBench) playCorpus(ctx context.Context) (fixtures []spokenFixture, heard []heardTurn, err error) {
	most := max(8, int(64*b.minutes))
	for n, t := range corpus(most) {
		f, err := b.spoken(ctx, n, t)
		if err != nil {
			return nil, nil, err
		}
		fixtures = append(fixtures, f)
	}
	heard = make([]heardTurn, len(fixtures))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for first := range atOnce {
		all.Go(func() {
			for n := first; n < len(fixtures); n += atOnce {
				h, err := b.converse(ctx, &voice.Sessions{}, fixtures[n], turn.SemanticVAD, false)
				if err != nil {
					cancel(err)
					return
				}
				heard[n] = h
			}
		})
	}
	all.Wait()
	return fixtures, heard, context.Cause(ctx)
}
