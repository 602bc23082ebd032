package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	benchcard "dure/inference/bench/card"
	"dure/inference/device"
)

// powerSeen says why no power can be read; empty if it can.
func (r *cardRig) powerSeen() string {
	why := "no graphics card is used"
	for _, d := range r.devices {
		switch {
		case d.Kind == device.Processor || d.Kind == device.Software || len(d.Seen) == 0:
		case d.Power.Known || d.Temperature.Known:
			return ""
		default:
			why = fmt.Sprintf("%s: its driver does not tell: %s", d.Name, d.Power.Why)
		}
	}
	return why
}

// havePower succeeds where readings were taken while something else was measured.
func (r *cardRig) havePower(_ context.Context, j *benchcard.Journal) error {
	for _, p := range j.Points() {
		if p.Figure == benchcard.FigurePower || p.Figure == benchcard.FigureHeat {
			return nil
		}
	}
	return errors.New("the card told nothing while it computed")
}

// powerEvery is how often the cards are asked.
const powerEvery = time.Second

// powered reads power and temperature while something is measured. The readings are
// kept when it has ended: the journal belongs to one goroutine.
func (r *cardRig) powered(measure func(context.Context, *benchcard.Journal) error) func(context.Context, *benchcard.Journal) error {
	return func(ctx context.Context, j *benchcard.Journal) error {
		if r.powerSeen() != "" {
			return measure(ctx, j)
		}
		from := 0.0
		for _, p := range j.Points() {
			if p.Figure == benchcard.FigurePower || p.Figure == benchcard.FigureHeat {
				from = max(from, p.X)
			}
		}
		inner, cancel := context.WithCancel(ctx)
		readings := make(chan []benchcard.Point, 1)
		go func() { readings <- r.watchPower(inner, from) }()
		err := measure(ctx, j)
		cancel()
		for _, p := range <-readings {
			err = errors.Join(err, j.Point(p))
		}
		return err
	}
}

func (r *cardRig) watchPower(ctx context.Context, from float64) (all []benchcard.Point) {
	begin := time.Now()
	tick := time.NewTicker(powerEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return all
		case <-tick.C:
		}
		at := from + time.Since(begin).Round(100*time.Millisecond).Seconds()
		for _, d := range r.host.devices(ctx) {
			if d.Kind == device.Processor || len(d.Seen) == 0 {
				continue
			}
			if d.Power.Known {
				all = append(all, reading(benchcard.FigurePower, d.Name, at, d.Power.Value))
			}
			if d.Temperature.Known {
				all = append(all, reading(benchcard.FigureHeat, d.Name, at, d.Temperature.Value))
			}
		}
	}
}

func reading(figure, name string, at, value float64) benchcard.Point {
	return benchcard.PointOf(figure, name, at, 0, value)
}
