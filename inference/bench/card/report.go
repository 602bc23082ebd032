package card

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Schema is the number of the report's and the journal's form. It goes up when what
// a field says changes.
const Schema = 1

// Subject is what a report is about. Figures of different subjects are never mixed.
type Subject struct {
	Dure    string   `json:"dure"`    // version
	Engine  string   `json:"engine"`  // variant and version
	Devices []string `json:"devices"` // cards with their drivers, as far as they tell
	CPU     string   `json:"cpu"`
	Cores   int      `json:"cores"` // usable
	Threads int      `json:"threads"`
	Memory  uint64   `json:"memory_bytes"`
	System  string   `json:"system"` // "linux/amd64"
	Model   string   `json:"model"`
	// Shape is architecture, layers, parameters and bytes; SHA256 that of the file,
	// or of the hashes of several, one a line.
	Shape  string `json:"shape"`
	Files  int    `json:"files"`
	SHA256 string `json:"sha256"`
	// Layout is how the model is loaded: layers on cards, types of the cache.
	Layout string `json:"layout"`
	Quick  bool   `json:"quick"`
}

// differences names the fields in which two subjects differ, as their JSON does.
func (s Subject) differences(o Subject) (names []string) {
	a, b := reflect.ValueOf(s), reflect.ValueOf(o)
	for i := range a.NumField() {
		x, y := a.Field(i), b.Field(i)
		empty := x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0
		if !empty && !reflect.DeepEqual(x.Interface(), y.Interface()) {
			names = append(names, fmt.Sprintf("%s: %v, now %v", a.Type().Field(i).Tag.Get("json"), x, y))
		}
	}
	return names
}

// Point is one measured figure: the median of samples taken in a row.
type Point struct {
	Figure string `json:"figure"`
	Series string `json:"series"`
	// X is what the figure is drawn over; 0 where it is a table.
	X     float64 `json:"x"`
	Value float64 `json:"value"`
	// Low and High are the smallest and the largest of Samples; 0 where only the
	// median is known.
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Samples int     `json:"samples"`
	// Tokens is the size of a chunk, or the length of each sequence.
	Tokens int `json:"tokens,omitempty"`
	// Disturbed is the part of the time for which the engine's threads waited for cores
	// that other programs had, where that is more than MostDisturbed.
	Disturbed float64 `json:"disturbed,omitempty"`
}

// MostDisturbed is how much of a point's time other programs may take before it says so.
const MostDisturbed = 0.05

// Key tells points apart.
func (p Point) Key() string { return fmt.Sprintf("%s|%s|%g", p.Figure, p.Series, p.X) }

// Figure is a chart, or a table where it has no X.
type Figure struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	X     string `json:"x,omitempty"`
	Unit  string `json:"unit"`
	// Note says what exactly was measured.
	Note string `json:"note,omitempty"`
	// LogX draws powers of two evenly.
	LogX bool `json:"log_x,omitempty"`
	// LogY draws powers of ten evenly, where values lie far apart.
	LogY bool `json:"log_y,omitempty"`
}

// The states of a part of the report.
const (
	Done    = "done"
	Part    = "part"    // what there is of it is in the report
	Skipped = "skipped" // it cannot be measured here
	Failed  = "failed"
	Left    = "left out" // there was no time for it
)

// State is how far a part came, and why no further.
type State struct {
	Item  string `json:"item"`
	Title string `json:"title,omitempty"` // in a report
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
}

// Note is a remark on a part of the report.
type Note struct {
	Item string `json:"item"`
	Text string `json:"text"`
}

// PlanRow compares what was planned with what was read after the load. It is the
// only place of planned figures.
type PlanRow struct {
	Device   string `json:"device"`
	Item     string `json:"item"`
	Planned  uint64 `json:"planned_bytes"`
	Measured uint64 `json:"measured_bytes"`
	// Note says what the reader would ask about the row.
	Note string `json:"note,omitempty"`
}

// Report is all of it: card.json.
type Report struct {
	Schema  int       `json:"schema"`
	Made    time.Time `json:"made"`
	Subject Subject   `json:"subject"`
	Figures []Figure  `json:"figures"`
	Points  []Point   `json:"points"`
	Plan    []PlanRow `json:"plan"`
	Parts   []State   `json:"parts"`
	Notes   []Note    `json:"notes"`
	// Lines are fitted to Points; they are no measurements themselves.
	Lines *Lines `json:"lines,omitempty"`
}

// of are the points of a figure, by series in the order of their first and by X.
func (r *Report) of(figure string) (series []string, points map[string][]Point) {
	points = map[string][]Point{}
	for _, p := range r.Points {
		if p.Figure != figure {
			continue
		}
		if _, ok := points[p.Series]; !ok {
			series = append(series, p.Series)
		}
		points[p.Series] = append(points[p.Series], p)
	}
	for _, all := range points {
		slices.SortFunc(all, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	}
	return series, points
}
