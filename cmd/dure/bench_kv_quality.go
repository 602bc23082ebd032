package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"dure/gguf"
	benchkv "dure/inference/bench/kv"
)

// qualityRow is what a setting of the cache loses with a model on an engine.
type qualityRow struct {
	Engine      string `json:"engine"`
	Fingerprint string `json:"fingerprint"` // of the model's file, see gguf.Model
	Setting     string `json:"setting"`
	Tier        string `json:"tier"` // hot or parked
	// Rotation is what the engine does before it stores.
	Rotation benchkv.Rotation `json:"rotation"`
	// Codec is the coding of a parked class (codecKey): figures of another say nothing.
	Codec string `json:"codec,omitempty"`

	Model string `json:"model"` // for people
	Dure  string `json:"dure"`
	Seed  uint64 `json:"seed"`
	// Contexts of up to Reach tokens, and Rows compared behind them.
	Contexts int `json:"contexts"`
	Reach    int `json:"reach"`
	Rows     int `json:"rows"`
	Broken   int `json:"broken"`

	Mean          benchkv.Interval `json:"kld_mean"`
	Tail          benchkv.Interval `json:"kld_999"`
	Max           float64          `json:"kld_max"`
	Top           benchkv.Interval `json:"top1"`
	Retention     benchkv.Interval `json:"retention"`
	Solved        int              `json:"full_solved"` // questions that the full cache solves
	BytesPerToken float64          `json:"bytes_per_token"`
	Ratio         float64          `json:"ratio"`
	// Bound that it was held to, and what came of it. A load judges the figures anew.
	Bound   benchkv.Bound   `json:"bound"`
	Verdict benchkv.Verdict `json:"verdict"`
}

func (r qualityRow) same(o qualityRow) bool {
	return r.Engine == o.Engine && r.Fingerprint == o.Fingerprint && r.Setting == o.Setting && r.Tier == o.Tier && r.Rotation == o.Rotation && r.Codec == o.Codec
}

// qualityName has the number of its form, as measured-1.json does: a later form has
// another name, and is left alone.
const qualityName = "kv-quality-1.json"

func qualityFile(home string) string { return filepath.Join(home, qualityName) }

// mostQuality is far beyond mostMeasured rows.
const mostQuality = 8 << 20

// readQuality reads all rows. The gate depends on them: a file with anything in it that
// is not of this form is an error, not a file without rows.
func readQuality(home string) ([]qualityRow, error) {
	f, err := os.Open(qualityFile(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("losses of the cache: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostQuality+1))
	if err != nil {
		return nil, fmt.Errorf("losses of the cache: %w", err)
	}
	rows, err := decodeQuality(data)
	if err != nil {
		return nil, fmt.Errorf("losses of the cache in %s cannot be read: %w; remove the file, and `dure bench kv` measures anew", qualityFile(home), err)
	}
	return rows, nil
}

// decodeQuality reads the bytes of the file.
func decodeQuality(data []byte) (rows []qualityRow, err error) {
	if len(data) > mostQuality {
		return nil, fmt.Errorf("more than %d bytes", mostQuality)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&rows); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the rows")
	}
	for i, r := range rows {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return rows, nil
}

func (r qualityRow) check() error {
	print, err := hex.DecodeString(r.Fingerprint)
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	switch {
	case err != nil || len(print) != 32:
		return fmt.Errorf("fingerprint %q, must be 64 hexadecimal digits", r.Fingerprint)
	case r.Engine == "" || r.Setting == "":
		return errors.New("engine and setting must be named")
	case r.Tier != string(benchkv.Hot) && r.Tier != string(benchkv.Parked):
		return fmt.Errorf("tier %q, must be hot or parked", r.Tier)
	case r.Rows < 1 || r.Broken < 0 || r.Broken > r.Rows || r.Contexts < 1 || r.Reach < 1:
		return fmt.Errorf("%d rows, %d of them broken, %d contexts to %d tokens", r.Rows, r.Broken, r.Contexts, r.Reach)
	case !(r.Mean.Value >= 0) || math.IsInf(r.Mean.Value, 0) || !share(r.Top.Value):
		return fmt.Errorf("mean divergence %v, top-1 %v", r.Mean.Value, r.Top.Value)
	}
	return nil
}

// known is what was measured of a setting; nothing near is taken for it.
func known(rows []qualityRow, like qualityRow) benchkv.Known {
	r, ok := rowLike(rows, like)
	if !ok {
		return benchkv.Known{}
	}
	return benchkv.Known{Measured: true, Reach: r.Reach, Figures: r.figures()}
}

func (r qualityRow) figures() benchkv.Figures {
	return benchkv.Figures{Mean: r.Mean.Value, Top: r.Top.Value, Rows: r.Rows, Broken: r.Broken}
}

// passes judges anew: the verdict in the row is that of the bound of its time.
func (r qualityRow) passes() bool {
	verdict, _ := benchkv.DefaultBound().Judge(r.figures())
	return verdict == benchkv.Passed
}

// keepQuality remembers what a run found. Of a setting that was measured better before,
// on more tokens, that stays; the notes say so.
func keepQuality(home string, report benchkv.Report) (notes []string, err error) {
	rows, err := readQuality(home)
	if err != nil {
		return nil, err // measured by hand perhaps: the user's to remove
	}
	for _, x := range report.Results {
		if x.Rows == 0 || x.Setting == benchkv.ControlName || x.Setting == benchkv.NoiseName {
			continue
		}
		row := newQualityRow(report, x)
		if before, ok := rowLike(rows, row); ok && before.Rows > row.Rows {
			notes = append(notes, fmt.Sprintf("%s: what was measured before, on %d tokens instead of %d, is kept", x.Setting, before.Rows, row.Rows))
			continue
		}
		if row.Rows < report.Bound.Rows {
			notes = append(notes, fmt.Sprintf("%s: %d tokens are too few for a verdict (at least %d): shown, and no load is decided by it", x.Setting, row.Rows, report.Bound.Rows))
		}
		rows = append([]qualityRow{row}, slices.DeleteFunc(rows, row.same)...)
	}
	return notes, writeJSON(qualityFile(home), rows[:min(len(rows), mostMeasured)])
}

func newQualityRow(report benchkv.Report, x benchkv.Result) qualityRow {
	row := qualityRow{
		Engine: report.Subject.Engine, Fingerprint: report.Subject.Fingerprint, Setting: x.Setting, Tier: string(x.Tier), Rotation: x.Rotation, Codec: x.Codec,
		Model: report.Subject.Model, Dure: report.Subject.Dure, Seed: report.Seed,
		Contexts: x.Contexts, Rows: x.Rows, Broken: x.Broken, Mean: x.Mean, Tail: x.Tail, Max: x.Max, Top: x.Top,
		BytesPerToken: x.BytesPerToken, Ratio: x.Ratio, Bound: report.Bound, Verdict: x.Verdict,
	}
	for _, p := range x.ByLength {
		row.Reach = max(row.Reach, p.Length)
	}
	if len(x.Tasks) > 0 {
		row.Retention, row.Solved = x.Tasks[0].Retention, x.Tasks[0].Full
	}
	return row
}

// fingerprintOf a model's file as rows have it.
func fingerprintOf(m *gguf.Model) (string, error) {
	print, err := m.Fingerprint()
	return hex.EncodeToString(print), err
}
