package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"dure/runtime/event"
)

type done struct {
	Task  string `json:"task"`
	Epoch int    `json:"epoch"`
}

// rename is the upgrade from version 1, where the field was called name.
func rename(payload []byte) ([]byte, error) {
	var old struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(payload, &old); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"task": old.Name})
}

// number gives version 2 its epoch.
func number(payload []byte) ([]byte, error) {
	return bytes.Replace(payload, []byte("}"), []byte(`,"epoch":1}`), 1), nil
}

func TestRegistry(t *testing.T) {
	r := event.NewRegistry()
	typ, err := event.Register[done](r, "task.done", 3, rename, number)
	if err != nil {
		t.Fatal(err)
	}
	e, err := typ.New(done{"a", 2})
	if err != nil || e.Type != "task.done" || e.Version != 3 || string(e.Payload) != `{"task":"a","epoch":2}` {
		t.Fatalf("made %+v, %v", e, err)
	}
	for _, c := range []struct {
		version int
		payload string
		want    done
		err     bool
	}{
		{3, `{"task":"a","epoch":2}`, done{"a", 2}, false},
		{2, `{"task":"a"}`, done{"a", 1}, false},
		{1, `{"name":"a"}`, done{"a", 1}, false},
		{3, `{"task":"a","epoch":2,"more":1}`, done{}, true},
		{3, `{"task":"a"} {}`, done{}, true},
		{3, `[]`, done{}, true},
		{1, `[]`, done{}, true},
	} {
		e := event.Event{Type: "task.done", Version: c.version, Payload: []byte(c.payload)}
		one, oneErr := typ.Decode(e)
		any, anyErr := r.Decode(e)
		if (oneErr != nil) != c.err || (anyErr != nil) != c.err || errors.Is(oneErr, event.ErrUnknownType) {
			t.Errorf("version %d, %s: %v, %v", c.version, c.payload, oneErr, anyErr)
		}
		if !c.err && (one != c.want || any != c.want) {
			t.Errorf("version %d, %s: %+v, %+v", c.version, c.payload, one, any)
		}
	}
}

// What is not known is said, and stays readable as it is.
func TestUnknownTypes(t *testing.T) {
	r := event.NewRegistry()
	typ, err := event.Register[done](r, "task.done", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []event.Event{
		{Type: "task.begun", Version: 1, Payload: []byte("{}")},
		{Type: "task.done", Version: 2, Payload: []byte("{}")},
		{Type: "task.done", Version: 0, Payload: []byte("{}")},
	} {
		if _, err := r.Decode(e); !errors.Is(err, event.ErrUnknownType) {
			t.Errorf("%+v: %v", e, err)
		}
		if _, err := typ.Decode(e); !errors.Is(err, event.ErrUnknownType) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	r := event.NewRegistry()
	if _, err := event.Register[done](r, "task.done", 1); err != nil {
		t.Fatal(err)
	}
	for name, register := range map[string]func() error{
		"twice":          func() error { _, err := event.Register[int](r, "task.done", 1); return err },
		"no name":        func() error { _, err := event.Register[int](r, "", 1); return err },
		"bad name":       func() error { _, err := event.Register[int](r, "Task", 1); return err },
		"version 0":      func() error { _, err := event.Register[int](r, "a", 0); return err },
		"no upgrade":     func() error { _, err := event.Register[int](r, "a", 2); return err },
		"upgrade to 1":   func() error { _, err := event.Register[int](r, "a", 1, number); return err },
		"two upgrades":   func() error { _, err := event.Register[int](r, "a", 2, number, number); return err },
		"cannot be JSON": func() error { typ, _ := event.Register[chan int](r, "b", 1); _, err := typ.New(nil); return err },
	} {
		if err := register(); !errors.Is(err, event.ErrInvalid) && name != "cannot be JSON" || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestID(t *testing.T) {
	before := time.Now().UnixMilli()
	a, b := event.NewID(), event.NewID()
	if a == b || a.String() == b.String() || len(a.String()) != 32 {
		t.Errorf("%v and %v", a, b)
	}
	var milli int64
	for _, x := range a[:6] {
		milli = milli<<8 | int64(x)
	}
	if milli < before || milli > time.Now().UnixMilli() {
		t.Errorf("the time of %v is %d", a, milli)
	}
	if got, err := event.ParseID(a.String()); got != a || err != nil {
		t.Errorf("%v became %v, %v", a, got, err)
	}
	for _, s := range []string{"", "0", a.String() + "00", "g" + a.String()[1:]} {
		if _, err := event.ParseID(s); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestDerivedIDs(t *testing.T) {
	// Kept logs hold these: the same parts must make the same ID for ever.
	if got := event.DerivedID("gate.blocked", "noether", "c1").String(); got != "0fcd29a30e489bf01c9f6120936ea39c" {
		t.Error(got)
	}
}
