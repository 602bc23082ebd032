// Package eventtest is what every event log must pass: the conformance suite that
// packages sqlite and postgres run, the writer that is killed at any moment and the
// check of what it leaves, and the benchmark of appends. It knows logs by their
// interface. Tests alone import it.
package eventtest

import (
	"testing"

	"dure/runtime/event"
)

// A Place is where one log lies. Open opens it; opened twice, the two are as two
// processes that share the log. What was opened is closed at the end of the test.
type Place struct {
	Open func(t testing.TB) event.Log
	// Table is a State in tables of the same store, with Dump, for the fold's tests.
	Table func(t testing.TB) Dumper
	// Models is how often random calls are made; rapid makes no more than 100.
	Models int
}

// A Dumper is a State that can be compared: equal states dump equal bytes.
type Dumper interface {
	event.State
	Dump() ([]byte, error)
}

// Run runs the suite. place makes a new, empty log.
func Run(t *testing.T, place func(t testing.TB) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"Fields":       testFields,
		"Limits":       testLimits,
		"Names":        testNames,
		"Conflict":     testConflict,
		"Duplicate":    testDuplicate,
		"Refused":      testRefused,
		"Pages":        testPages,
		"Race":         testRace,
		"OneOrder":     testOneOrder,
		"Follow":       testFollow,
		"FollowStream": testFollowStream,
		"FollowFar":    testFollowFar,
		"Slow":         testSlow,
		"Wait":         testWait,
		"Cancel":       testCancel,
		"Close":        testClose,
		"Fold":         testFold,
		"FoldRefusals": testFoldRefusals,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
	t.Run("Model", func(t *testing.T) { testModel(t, place) })
}
