package boardtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"dure/runtime/board"
)

// Row 28: each announcement reaches each agent once.
func testAnnounce(t *testing.T, p Place) {
	limit := Options{Limits: func(l *board.Limits) { l.Announced = 5 }}
	b := p.Open(t, limit)
	names := []string{"ann", "bob", "cleo", "dan"}
	agent := func(i int) board.Agent {
		return board.Agent{Name: names[i], Crew: []string{"red", "blue"}[i%2], Role: board.Worker}
	}
	do(t, join(t, b, lead), "insert into announce (body) values ('before anybody')")
	gates := make([]board.Gateway, len(names))
	joinAll := func() {
		for i := range names {
			gates[i] = join(t, b, agent(i))
		}
	}
	joinAll()
	rng := rand.New(rand.NewPCG(28, 1))
	want, got := make([][]string, len(names)), make([][]string, len(names))
	take := func(i int, ack bool) {
		all, err := gates[i].Announced(limited(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 5 {
			t.Errorf("%d at once", len(all))
		}
		if len(all) == 0 || !ack {
			return // not acknowledged: they come again
		}
		for _, a := range all {
			got[i] = append(got[i], a.Agent+" "+a.Body)
			if a.At == "" || a.Crew == "" {
				t.Errorf("got %+v", a)
			}
		}
		if err := gates[i].Acknowledge(limited(t), all[len(all)-1].ID); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 120 {
		from := rng.IntN(len(names))
		var crew any
		if rng.IntN(3) == 0 {
			crew = []string{"red", "blue"}[rng.IntN(2)]
		}
		body := fmt.Sprint("news ", n)
		do(t, gates[from], "insert into announce (to_crew, body) values ($1, $2)", crew, body)
		for i := range names {
			if i != from && (crew == nil || crew == agent(i).Crew) {
				want[i] = append(want[i], names[from]+" "+body)
			}
		}
		take(rng.IntN(len(names)), rng.IntN(3) > 0)
		if n == 60 { // a restart loses and repeats nothing
			closeIt(t, b)
			b = p.Open(t, limit)
			joinAll()
		}
	}
	for i := range names {
		for range 40 {
			take(i, true)
		}
		if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			t.Errorf("%s got %v, want %v", names[i], got[i], want[i])
		}
	}
	// An acknowledgement goes forward only, and not beyond what there is.
	if err := gates[0].Acknowledge(limited(t), 1); err != nil {
		t.Error(err)
	}
	wantErr(t, gates[0].Acknowledge(limited(t), 1<<40), board.ErrStatement)
	take(0, true)
	if len(got[0]) != len(want[0]) {
		t.Error("an old acknowledgement brought news again")
	}
	rebuilt(t, p, b)
}
