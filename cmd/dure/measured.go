package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"dure/inference/plan"
)

// measured remembers what scratch space the engine took for a model and a
// shape on this machine, and the driver beside it, so that the next plan uses
// figures instead of formulas. It is a cache: a file that cannot be read is set
// aside.
type measured struct {
	file   string
	engine string // variant, version and cards: others take other sizes

	mu   sync.Mutex
	rows []measuredRow
}

type measuredRow struct {
	Engine      string           `json:"engine"`
	Model       string           `json:"model"`
	Measurement plan.Measurement `json:"measurement"`
}

// mostMeasured rows are kept, the latest ones.
const mostMeasured = 500

func openMeasured(home, engine string) (*measured, error) {
	// The number goes up when what a row says changes: each form has a file of
	// its own, and what a later dure measured is not touched.
	m := &measured{file: filepath.Join(home, "measured-1.json"), engine: engine}
	before := filepath.Join(home, "measured.json") // from before there were numbers
	if _, err := os.Stat(before); err == nil {
		if err := setAside(before, errors.New("it is of an earlier form")); err != nil {
			return m, errors.Join(err, m.read())
		}
	}
	return m, m.read()
}

func (m *measured) read() error {
	data, err := os.ReadFile(m.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("measured sizes are not used: %w", err)
	}
	if err := json.Unmarshal(data, &m.rows); err != nil {
		m.rows = nil
		return setAside(m.file, err)
	}
	return nil
}

// setAside moves a file away that cannot be used, so that the next write does not
// take it; the error says so in any case.
func setAside(file string, why error) error {
	aside := file + ".unused"
	if err := os.Rename(file, aside); err != nil {
		return fmt.Errorf("measured figures in %s are not used: %w; and it cannot be set aside: %w", file, why, err)
	}
	return fmt.Errorf("measured figures are not used: %w; the file is now %s and can be deleted", why, aside)
}

// modelKey tells models of one shape from all others.
func modelKey(m plan.Model) string {
	g := m.Geometry
	return fmt.Sprintf("%s %d layers %d parameters %d bytes", g.Architecture, len(g.Layers), g.Parameters, g.Bytes)
}

// shapes that were measured of a model.
func (m *measured) shapes(of plan.Model) []plan.Measurement {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []plan.Measurement
	for _, r := range m.rows {
		if r.Engine == m.engine && r.Model == modelKey(of) {
			all = append(all, r.Measurement)
		}
	}
	return all
}

// add keeps a measurement, and writes the file if it is news.
func (m *measured) add(of plan.Model, what plan.Measurement) error {
	row := measuredRow{m.engine, modelKey(of), what}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range m.rows {
		if r.Engine == row.Engine && r.Model == row.Model && r.Measurement.Shape == what.Shape {
			if reflect.DeepEqual(r, row) {
				return nil
			}
			m.rows = append(m.rows[:i], m.rows[i+1:]...)
			break
		}
	}
	m.rows = append(m.rows, row)
	m.rows = m.rows[max(0, len(m.rows)-mostMeasured):]
	return m.write()
}

func (m *measured) write() error { return writeJSON(m.file, m.rows) }

// writeJSON replaces a file whole.
func writeJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
