// Package boardtest is what every board must pass: the conformance suite that
// packages sqlite and postgres run, the load of a process that is killed at any
// moment and the check of what it leaves, forgeries and denials. It knows boards by
// their interface. Tests alone import it.
package boardtest

import (
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/event"
)

// A Place is where one board lies.
type Place struct {
	// Open opens the board. What is opened twice is the same board; a store that one
	// process has to itself is only opened again after it was closed. What was opened
	// is closed at the end of the test, if it is not before.
	Open func(t testing.TB, o Options) board.Board
	// Fresh makes new tables from the same log, while no other board on it is open.
	Fresh func(t testing.TB) board.Board
	// Log is the log under the board.
	Log event.Log
	// Attacks are what this store's SQL has and no agent may.
	Attacks []Attack
	// Bombs are statements that a limit ends.
	Bombs []Bomb
	// Endless is a statement that reads and never ends, and one that writes.
	Endless, EndlessWrite string
	// Sized is a statement of one parameter: it inserts so many rows of 1000 bytes
	// into notes.
	Sized string
}

// Options are what a test changes.
type Options struct {
	Limits func(*board.Limits) // nil: the defaults
	Now    func() time.Time    // nil: time.Now
}

// An Attack is a statement that must be refused, and change nothing.
type Attack struct {
	Name string
	SQL  string
	Args []any
	Lead bool  // also for the lead, who tries it too
	Want error // nil: board.ErrDenied
}

// A Bomb is a statement that must be ended by a limit and leave the board usable.
type Bomb struct {
	Name string
	SQL  string
	Want []error // one of them
}

// timed are the tests with a limit of time that must strike and is short: they have the
// machine to themselves.
var timed = map[string]bool{"TimeBombs": true, "SizeBombs": true, "Time": true}

// Run runs the suite. place makes a new, empty board.
func Run(t *testing.T, place func(t testing.TB) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"Tables":       testTables,
		"RoundTrip":    testRoundTrip,
		"Create":       testCreate,
		"Stamps":       testStamps,
		"Owners":       testOwners,
		"Forgeries":    testForgeries,
		"Denials":      testDenials,
		"TimeBombs":    testTimeBombs,
		"SizeBombs":    testSizeBombs,
		"Time":         testTime,
		"WriteSize":    testWriteSize,
		"Caps":         testCaps,
		"Quota":        testQuota,
		"OneStatement": testOneStatement,
		"Shell":        testShell,
		"Claim":        testClaim,
		"ClaimRace":    testClaimRace,
		"Holder":       testHolder,
		"Wait":         testWait,
		"Announce":     testAnnounce,
		"Again":        testAgain,
		"Counts":       testCounts,
		"Rebuild":      testRebuild,
		"Values":       testValues,
		"Close":        testClose,
	} {
		t.Run(name, func(t *testing.T) {
			if !timed[name] {
				t.Parallel()
			}
			test(t, place(t))
		})
	}
}
