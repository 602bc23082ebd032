package board

import (
	"fmt"
	"time"
)

// Limits of what agents may take. Every one holds for every agent, the lead too.
type Limits struct {
	Time        time.Duration // a statement runs
	Queue       time.Duration // a statement waits before it is begun
	Wait        time.Duration // a Wait lasts
	Statement   int           // bytes of a statement and of its arguments together
	Value       int           // bytes of one value, in tables and while computing
	Rows        int           // of a result
	Result      int           // bytes of a result
	Write       int64         // bytes of all values that a statement writes
	Heap        int64         // bytes that a statement may use to compute, each connection
	Announced   int           // announcements that are delivered at once
	AtOnce      int           // calls of one agent under way
	PerMinute   int           // calls of one agent, waits not counted
	Stored      int64         // bytes of all values in one agent's rows
	Tables      int           // that the lead adds
	Connections int           // that agents' statements read with at once
}

// DefaultLimits are for a swarm of a thousand agents on one machine.
func DefaultLimits() Limits {
	return Limits{
		Time:        5 * time.Second,
		Queue:       10 * time.Second,
		Wait:        60 * time.Second,
		Statement:   1 << 20,
		Value:       1 << 20,
		Rows:        10_000,
		Result:      8 << 20,
		Write:       256 << 20,
		Heap:        64 << 20,
		Announced:   200,
		AtOnce:      4,
		PerMinute:   1200,
		Stored:      1 << 30,
		Tables:      100,
		Connections: 4,
	}
}

// Check says which limit makes no sense, or nil.
func (l Limits) Check() error {
	for name, n := range map[string]int64{
		"time": int64(l.Time), "queue": int64(l.Queue), "wait": int64(l.Wait), "statement": int64(l.Statement),
		"value": int64(l.Value), "rows": int64(l.Rows), "result": int64(l.Result), "write": l.Write, "heap": l.Heap,
		"announced": int64(l.Announced), "calls at once": int64(l.AtOnce), "calls a minute": int64(l.PerMinute),
		"stored": l.Stored, "tables": int64(l.Tables), "connections": int64(l.Connections),
	} {
		if n <= 0 {
			return fmt.Errorf("limits: %w: %s is %d, want more than 0", ErrInvalid, name, n)
		}
	}
	return nil
}
