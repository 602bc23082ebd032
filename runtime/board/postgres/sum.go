package postgres

import "dure/runtime/board"

// sums is what the events of some jobs come to.
type sums struct {
	Used    []usedSum
	Changed map[string]int   // table: the last of the writes, from 1
	Grown   map[string]int64 // agent: bytes of its rows
	Growers map[string]int64 // agent: those that it wrote itself, where they grew
}

type usedSum struct {
	Agent string     `json:"agent"`
	Table string     `json:"table"`
	Kind  board.Kind `json:"kind"`
	N     int64      `json:"n"`
}

func sumUp(jobs []*job) sums {
	all := sums{Used: []usedSum{}, Changed: make(map[string]int), Grown: make(map[string]int64), Growers: make(map[string]int64)}
	counts := make(map[board.Use]int64)
	for i, j := range jobs {
		for _, u := range j.done.Uses {
			counts[u]++
			if u.Kind == board.Write {
				all.Changed[u.Table] = i + 1
			}
		}
		for agent, n := range j.cap.grown {
			all.Grown[agent] += n
			if agent == j.agent.Name && n > 0 {
				all.Growers[agent] += n
			}
		}
	}
	for u, n := range counts {
		all.Used = append(all.Used, usedSum{u.Agent, u.Table, u.Kind, n})
	}
	return all
}
