package spec

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"dure/inference"
	"dure/inference/bench"
)

// PairOptions of a comparison of a model with guesses (On) and the same without.
type PairOptions struct {
	On, Off inference.Model
	Tasks   []Task
	Streams []int // at the same time
	Tokens  int   // of each answer
	Pairs   int
	// Told after each pair; may be nil.
	Told func(Result)
}

// Result of one task with a number of streams.
type Result struct {
	Task    string `json:"task"`
	Streams int    `json:"streams"`
	// Speed in tokens a second of all streams: On, Off and their ratio, pair by pair.
	Speed bench.Summary `json:"speed"`
	On    float64       `json:"on"`
	Off   float64       `json:"off"`
	// Drafted guesses were checked, Accepted were right, of Tokens in all.
	Drafted  int `json:"drafted"`
	Accepted int `json:"accepted"`
	Tokens   int `json:"tokens"`
	// Same is how many answers were the same text with and without, of Answers.
	Same    int `json:"same"`
	Answers int `json:"answers"`

	pairs bench.Pairs
}

// Compare measures all tasks with all numbers of streams.
func Compare(ctx context.Context, opt PairOptions) ([]Result, error) {
	var all []Result
	for _, task := range opt.Tasks {
		for _, streams := range opt.Streams {
			r := Result{Task: task.Name, Streams: streams}
			for i := range opt.Pairs {
				if err := r.pair(ctx, opt, task, i); err != nil {
					return all, fmt.Errorf("%s with %d streams: %w", task.Name, streams, err)
				}
				r.Speed = r.pairs.Summary()
				r.On, r.Off = r.Speed.A, r.Speed.B
				if opt.Told != nil {
					opt.Told(r)
				}
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// pair runs both sides, the one first that was second before.
func (r *Result) pair(ctx context.Context, opt PairOptions, task Task, round int) error {
	models := []inference.Model{opt.On, opt.Off}
	var runs [2]run
	for k := range 2 {
		side := (k + round) % 2
		for i := range r.Streams { // what is measured is writing: the prompt is read before
			if _, err := write(ctx, models[side], task, i, 1); err != nil {
				return err
			}
		}
		var err error
		if runs[side], err = together(ctx, models[side], task, r.Streams, opt.Tokens); err != nil {
			return err
		}
	}
	r.pairs.Add(runs[0].speed, runs[1].speed)
	r.Drafted += runs[0].drafted
	r.Accepted += runs[0].accepted
	r.Tokens += runs[0].tokens
	for i, text := range runs[0].texts {
		r.Answers++
		if text == runs[1].texts[i] {
			r.Same++
		}
	}
	return nil
}

// run is what all streams of one side did.
type run struct {
	speed                     float64
	tokens, drafted, accepted int
	texts                     []string
}

func together(ctx context.Context, m inference.Model, task Task, streams, tokens int) (all run, err error) {
	answers, errs := make([]written, streams), make([]error, streams)
	var wait sync.WaitGroup
	for i := range streams {
		wait.Go(func() { answers[i], errs[i] = write(ctx, m, task, i, tokens) })
	}
	wait.Wait()
	for i, a := range answers {
		if errs[i] != nil {
			return all, errs[i]
		}
		all.tokens += a.usage.CompletionTokens
		all.speed += float64(a.usage.CompletionTokens) / a.usage.DecodeMS * 1000
		all.drafted += a.usage.DraftedTokens
		all.accepted += a.usage.AcceptedTokens
		all.texts = append(all.texts, a.text)
	}
	return all, nil
}

type written struct {
	text  string
	usage inference.Usage
}

func write(ctx context.Context, m inference.Model, task Task, stream, tokens int) (w written, err error) {
	p := inference.Params{MaxTokens: tokens, TopP: 1, IgnoreEOS: true, Seed: uint64(stream) + 1}
	if task.Sampled {
		p.Temperature = 0.8
	}
	req := &inference.Request{
		ID: fmt.Sprintf("%s-%d", task.Name, stream), Prompt: &inference.Prompt{Text: task.Prompt(stream)}, Params: p,
		Caller: inference.Caller{Session: fmt.Sprintf("%s-%d", task.Name, stream)},
	}
	var text strings.Builder
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return w, err
		}
		text.WriteString(ev.Text)
		if ev.Kind == inference.EventDone {
			w.usage = *ev.Usage
		}
	}
	w.text = text.String()
	return w, nil
}
