package scripted

import (
	"fmt"
	"time"
)

// Script is what a model says. The package comment has the format.
type Script struct {
	Name      string    `yaml:"name"`
	Latency   *Duration `yaml:"latency"` // nil: DefaultLatency
	Sequences int       `yaml:"sequences"`
	Queue     int       `yaml:"queue"`
	Cache     *Cache    `yaml:"cache"`
	Parts     []Part    `yaml:"parts"`
}

// DefaultLatency lets it show in a run's time whether agents wait for each other.
const DefaultLatency = 200 * time.Millisecond

// Part is what one agent says, or each of several that are asked alike.
type Part struct {
	Name    string    `yaml:"name"`
	Agent   string    `yaml:"agent"`
	Role    string    `yaml:"role"`
	Task    string    `yaml:"task"`
	System  string    `yaml:"system"`
	Match   string    `yaml:"match"`
	Fill    bool      `yaml:"fill"`
	Latency *Duration `yaml:"latency"` // nil: the script's
	Turns   []Turn    `yaml:"turns"`
	Asides  []Aside   `yaml:"asides"`
}

// Turn is one answer.
type Turn struct {
	Name    string    `yaml:"name"`
	Think   string    `yaml:"think"`
	Text    string    `yaml:"text"`
	Calls   []Call    `yaml:"calls"`
	Garbage string    `yaml:"garbage"`
	Latency *Duration `yaml:"latency"` // nil: the part's
	Fault   *Fault    `yaml:"fault"`
	Next    []Next    `yaml:"next"`
}

// Call is a call of a tool. Arguments are texts; Raw stands instead of them.
type Call struct {
	Tool      string            `yaml:"tool"`
	Arguments map[string]string `yaml:"arguments"`
	Raw       string            `yaml:"raw"`
	Stray     bool              `yaml:"stray"`
}

// Next is where a script goes after a turn: to the turn Go, if If fits something that
// was said since, or is empty.
type Next struct {
	If string `yaml:"if"`
	Go string `yaml:"go"`
}

// Aside is an answer out of turn to a question that fits Match.
type Aside struct {
	Match string `yaml:"match"`
	Text  string `yaml:"text"`
}

// FaultKind says what goes wrong.
type FaultKind string

// Kinds of faults.
const (
	Stall FaultKind = "stall"
	Error FaultKind = "error"
	Busy  FaultKind = "busy"
	Cut   FaultKind = "cut"
)

// Fault goes wrong the first Times (0 is 1) that a turn's request is made.
type Fault struct {
	Kind       FaultKind `yaml:"kind"`
	Times      int       `yaml:"times"`
	For        *Duration `yaml:"for"`         // of Stall; nil: until the caller goes
	Status     int       `yaml:"status"`      // of Error, 500 to 599; 0 is 500
	RetryAfter *Duration `yaml:"retry_after"` // of Error and Busy, whole seconds
}

// Cache is the budget of a simulated server: conversations, bytes in all, bytes of a
// token and of a recurrent state. Bytes 0 is any number.
type Cache struct {
	Slots      int   `yaml:"slots"`
	Bytes      int64 `yaml:"bytes"`
	KVBytes    int64 `yaml:"kv_bytes"`
	StateBytes int64 `yaml:"state_bytes"`
}

// Duration is a time with its unit, as in 200ms.
type Duration time.Duration

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no time; write it with a unit, such as 200ms or 5s", text)
	}
	if v < 0 {
		return fmt.Errorf("%s is less than no time", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
