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
// figures instead of formulas. It is a cache: a file that cannot be read is as
// good as none.
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
	// The number goes up when what a row says changes.
	m := &measured{file: filepath.Join(home, "measured-1.json"), engine: engine}
	data, err := os.ReadFile(m.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err == nil:
		err = json.Unmarshal(data, &m.rows)
	}
	if err != nil {
		m.rows = nil
		return m, fmt.Errorf("measured sizes in %s are not used: %w", m.file, err)
	}
	return m, nil
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
