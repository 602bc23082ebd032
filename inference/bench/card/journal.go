package card

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrOther says that a journal is of another subject, or of another form.
var ErrOther = errors.New("the journal is of another measurement")

// ErrExists says that there is a journal which nobody asked to go on with.
var ErrExists = errors.New("a measurement was begun there")

// entry is one line of a journal; one of its fields is set.
type entry struct {
	Schema  int       `json:"schema,omitempty"`
	Subject *Subject  `json:"subject,omitempty"`
	Begin   string    `json:"begin,omitempty"` // an item, once more: its remarks of before are void
	Point   *Point    `json:"point,omitempty"`
	Plan    []PlanRow `json:"plan,omitempty"`
	State   *State    `json:"state,omitempty"`
	Note    *Note     `json:"note,omitempty"`
}

// Journal keeps what was measured, line by line. Each line is on the disk before
// the call returns; a last line that a crash cut is dropped by the next OpenJournal.
type Journal struct {
	file   *os.File
	points []Point
	known  map[string]bool
	plan   []PlanRow
	states map[string]State
	notes  []Note
	item   string // that is measured
}

// OpenJournal begins a journal for a subject, or goes on with the one that is there:
// ErrExists without resume, ErrOther where it is of another subject.
func OpenJournal(path string, s Subject, resume bool) (*Journal, error) {
	j := &Journal{known: map[string]bool{}, states: map[string]State{}}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = nil
	case err != nil:
		return nil, fmt.Errorf("journal: %w", err)
	case !resume && len(data) > 0:
		return nil, fmt.Errorf("%w: %s", ErrExists, path)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	if err := j.replay(whole, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	err = j.file.Truncate(int64(len(whole)))
	if err == nil {
		_, err = j.file.Seek(0, 2)
	}
	if err == nil && len(whole) == 0 {
		err = errors.Join(j.append(entry{Schema: Schema, Subject: &s}), syncFolder(filepath.Dir(path)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), j.file.Close())
	}
	return j, nil
}

func (j *Journal) replay(data []byte, s Subject) error {
	first := true
	for line := range bytes.Lines(data) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %.60q: %w", line, err)
		}
		if first {
			if e.Schema != Schema {
				return fmt.Errorf("%w: it has form %d, this is %d", ErrOther, e.Schema, Schema)
			}
			if e.Subject == nil {
				return fmt.Errorf("%w: it has no subject", ErrOther)
			}
			if differs := e.Subject.differences(s); len(differs) > 0 {
				return fmt.Errorf("%w (%s)", ErrOther, strings.Join(differs, "; "))
			}
		}
		first = false
		j.take(e)
	}
	return nil
}

// brokenOff is all that is known of an item until it ends.
const brokenOff = "broken off; --resume goes on"

func (j *Journal) take(e entry) {
	switch {
	case e.Point != nil && !j.known[e.Point.Key()]:
		j.known[e.Point.Key()] = true
		j.points = append(j.points, *e.Point)
		if j.item != "" {
			j.states[j.item] = State{Item: j.item, State: Part, Why: brokenOff}
		}
	case e.Plan != nil:
		j.plan = e.Plan
	case e.State != nil:
		j.states[e.State.Item], j.item = *e.State, ""
	case e.Note != nil:
		j.notes = append(j.notes, *e.Note)
	case e.Begin != "":
		j.item = e.Begin
		state := Left
		if j.states[j.item].State == Part {
			state = Part // what an earlier run measured is still there
		}
		j.states[j.item] = State{Item: j.item, State: state, Why: brokenOff}
		j.notes = slices.DeleteFunc(j.notes, func(n Note) bool { return n.Item == e.Begin })
	}
}

func (j *Journal) append(e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if _, err := j.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.take(e)
	return nil
}

// Point keeps a figure; one that is there already stays as it is.
func (j *Journal) Point(p Point) error {
	if j.known[p.Key()] {
		return nil
	}
	return j.append(entry{Point: &p})
}

// Plan keeps the comparison of plan and load, the latest one.
func (j *Journal) Plan(rows []PlanRow) error {
	if len(rows) == 0 {
		return nil
	}
	return j.append(entry{Plan: rows})
}

// begin says that an item is measured, perhaps not for the first time: its points
// stay, what was remarked on does not.
func (j *Journal) begin(item string) error { return j.append(entry{Begin: item}) }

// Note keeps a remark on the item that is measured, for the reader of the report.
func (j *Journal) Note(text string) error {
	n := Note{Item: j.item, Text: text}
	if slices.Contains(j.notes, n) {
		return nil
	}
	return j.append(entry{Note: &n})
}

// Has reports whether a figure is there.
func (j *Journal) Has(p Point) bool { return j.known[p.Key()] }

// Fill puts what is there into a report, the states in the order of items.
func (j *Journal) Fill(r *Report, items []Item) {
	r.Points, r.Plan, r.Notes = j.points, j.plan, j.notes
	r.Parts = nil
	for _, it := range items {
		s, ok := j.states[it.Name]
		if !ok {
			s = State{Item: it.Name, State: Left, Why: "the measurement ended before"}
		}
		s.Title = it.Title
		r.Parts = append(r.Parts, s)
	}
}

// Close ends it.
func (j *Journal) Close() error { return j.file.Close() }

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Points are all that are there; they are not to be changed.
func (j *Journal) Points() []Point { return j.points }

// Keys of all points that are there.
func (j *Journal) Keys() (all []string) {
	for _, p := range j.points {
		all = append(all, p.Key())
	}
	return all
}
