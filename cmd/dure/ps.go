package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	benchkv "dure/inference/bench/kv"
	"dure/inference/pool"
	"dure/kvcache/codec"
)

// loadedModel is one row of `dure ps`.
type loadedModel struct {
	Name      string             `json:"name"`
	PID       int                `json:"pid"`
	Device    string             `json:"device"`
	Context   int                `json:"context"`
	Sequences int                `json:"sequences"`
	Cache     *cacheRow          `json:"cache,omitempty"`
	Requests  map[string]float64 `json:"requests"`           // by state
	Tokens    map[string]float64 `json:"tokens"`             // by phase, since it was loaded
	EngineCPU float64            `json:"engine_cpu_seconds"` // of the model's owner
	Memory    []memoryRow        `json:"memory"`
	Taken     []taken            `json:"taken,omitempty"` // by other programs
	Pool      *pool.Status       `json:"pool,omitempty"`
}

// cacheRow is how keys and values are kept, and what is known of the loss.
type cacheRow struct {
	Keys   string `json:"keys"`
	Values string `json:"values"`
	Loss   string `json:"loss"`
	// Class in which states are written to disk, "" where none are; Disk has the bytes
	// there by class.
	Class string             `json:"disk_class,omitempty"`
	Disk  map[string]float64 `json:"disk_bytes,omitempty"`
}

// String is the types of keys and values, "q8_0/q4_0", with a star where a note tells more.
func (c *cacheRow) String() string {
	switch {
	case c == nil:
		return "-"
	case c.note() != "":
		return pairName(c.Keys, c.Values) + "*"
	}
	return pairName(c.Keys, c.Values)
}

// note is what is lost, where it is to speak of, and how states are kept on disk; empty:
// nothing is to be told.
func (c *cacheRow) note() string {
	if c == nil {
		return ""
	}
	var parts []string
	if c.Loss != benchkv.ExactLoss {
		parts = append(parts, c.Loss)
	}
	held, lossy := c.held()
	if lossy || c.Class != "" && c.Class != codec.Exact.String() {
		parts = append(parts, strings.TrimSuffix("disk "+c.Class+": "+held, ": "))
	}
	return strings.Join(parts, "; ")
}

// held is how much lies on disk, by class, and whether any of it is not exact.
func (c *cacheRow) held() (text string, lossy bool) {
	var all []string
	for _, class := range codec.Classes() {
		if bytes := c.Disk[class.String()]; bytes > 0 {
			all = append(all, fmt.Sprintf("%s %v", size(int64(bytes)), class))
			lossy = lossy || class != codec.Exact
		}
	}
	return strings.Join(all, ", "), lossy
}

func pairName(keys, values string) string {
	if keys == values {
		return keys
	}
	return keys + "/" + values
}

func cacheRowOf(families map[string]*dto.MetricFamily, model string) *cacheRow {
	for _, m := range families["dure_model_cache_info"].GetMetric() {
		if label(m, "model") != model {
			continue
		}
		row := &cacheRow{Keys: label(m, "keys"), Values: label(m, "values"), Loss: label(m, "loss"), Disk: valuesBy(families["dure_model_cache_class_bytes"], model, "class")}
		for class := range valuesBy(families["dure_model_cache_class_info"], model, "class") {
			row.Class = class
		}
		return row
	}
	return nil
}

// memoryRow is one use of a device's memory, in bytes.
type memoryRow struct {
	Device   string  `json:"device"`
	Item     string  `json:"item"`
	By       string  `json:"measured_by"` // engine, process or card; see reading.go
	Planned  float64 `json:"planned_bytes"`
	Measured float64 `json:"measured_bytes"`
}

func psCommand() *cobra.Command {
	var asJSON, memory bool
	var addr string
	cmd := &cobra.Command{
		Use: "ps", Short: "Show the models that a running server has loaded, had, or failed to load", Args: cobra.NoArgs,
		Example: "  dure ps\n  dure ps --memory    the memory plan beside what the engine holds",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			models, err := pooledModels(ctx, addr)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(models)
			}
			if memory {
				return printMemory(cmd.OutOrStdout(), models)
			}
			if err := printModels(cmd.OutOrStdout(), models); err != nil {
				return err
			}
			return printTalks(ctx, addr, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&memory, "memory", false, "show the memory of each model: planned, held by the engine, and counted by the card's driver")
	serverFlag(cmd.Flags(), &addr, "the server")
	return cmd
}

// printModels is what each model does, for people.
func printModels(out io.Writer, models []loadedModel) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tPID\tDEVICE\tCONTEXT\tSEQUENCES\tCACHE\tWAITING\tPREFILL\tDECODE\tTOKENS OUT\tLEAVES\tNOTE")
	for _, m := range models {
		s := m.Pool
		if m.PID == 0 {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t-\t-\t%d\t-\t-\t-\t-\t%s\n", m.Name, s.State, s.Queued, statusNote(*s))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%d\t%v\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%s\n", m.Name, s.State, m.PID, m.Device, m.Context, m.Sequences, m.Cache,
			m.Requests["waiting"], m.Requests["prefill"], m.Requests["decode"]+m.Requests["blocked"], m.Tokens["decode"], leaves(*s), statusNote(*s))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range models {
		if note := m.Cache.note(); note != "" {
			fmt.Fprintf(out, "* %s: cache %s: %s\n", m.Name, pairName(m.Cache.Keys, m.Cache.Values), note)
		}
	}
	return printTaken(out, models)
}

func printTaken(out io.Writer, models []loadedModel) error {
	for _, m := range models {
		for _, t := range m.Taken {
			if _, err := fmt.Fprintf(out, "%s: %s\n", m.Name, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func printMemory(out io.Writer, models []loadedModel) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tDEVICE\tWHAT\tPLANNED\tMEASURED\tDIFFERENCE\tBY")
	for _, m := range models {
		for _, r := range m.Memory {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%+.1f MiB\t%s\n", m.Name, r.Device, r.Item, size(int64(r.Planned)), size(int64(r.Measured)), (r.Measured-r.Planned)/(1<<20), measuredBy[r.By])
		}
		if len(m.Memory) == 0 {
			fmt.Fprintf(w, "%s\t%s\tnot known\n", m.Name, orNone(m.Device))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printTaken(out, models)
}

// measuredBy tells who measured, for people.
var measuredBy = map[string]string{byEngine: "the engine", byProcess: "the driver, for the process", byCard: "the card, after the load less before"}

// pooledModels are the loaded models, and those of which the pool has something to
// say.
func pooledModels(ctx context.Context, addr string) ([]loadedModel, error) {
	all, err := poolOrder(ctx, http.MethodGet, addr, "/v1/dure/models", nil)
	if err != nil {
		return nil, err
	}
	loaded, err := loadedModels(ctx, addr)
	if err != nil {
		return nil, err
	}
	models := []loadedModel{}
	for _, s := range all {
		m := loadedModel{Name: s.Name}
		if i := slices.IndexFunc(loaded, func(m loadedModel) bool { return m.Name == s.Name }); i >= 0 {
			m = loaded[i]
		}
		m.Pool = &s
		models = append(models, m)
	}
	return models, nil
}

// loadedModels reads the server's metrics.
func loadedModels(ctx context.Context, addr string) ([]loadedModel, error) {
	resp, err := get(ctx, addr, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("no server answers at %s: %w; start one with `dure serve`", addr, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("server at %s: %s", addr, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", addr, err)
	}
	models := []loadedModel{}
	for _, m := range families["dure_model_info"].GetMetric() {
		name := label(m, "model")
		models = append(models, loadedModel{
			Name: name, PID: number(m, "pid"), Device: label(m, "device"),
			Context: number(m, "context"), Sequences: number(m, "sequences"),
			Requests:  valuesBy(families["dure_model_requests"], name, "state"),
			Tokens:    valuesBy(families["dure_model_engine_tokens_total"], name, "phase"),
			Cache:     cacheRowOf(families, name),
			Memory:    memoryOf(families["dure_model_memory_bytes"], name),
			EngineCPU: valuesBy(families["dure_model_engine_cpu_seconds_total"], name, "model")[name],
			Taken:     takenOf(families, name),
		})
	}
	return models, nil
}

func takenOf(families map[string]*dto.MetricFamily, model string) (all []taken) {
	free := valuesBy(families["dure_model_memory_taken_free_bytes"], model, "device")
	for device, bytes := range valuesBy(families["dure_model_memory_taken_bytes"], model, "device") {
		all = append(all, taken{device, bytes, free[device]})
	}
	slices.SortFunc(all, func(a, b taken) int { return strings.Compare(a.Device, b.Device) })
	return all
}

// memoryOf puts the planned and the measured values of a model side by side.
func memoryOf(f *dto.MetricFamily, model string) []memoryRow {
	var rows []memoryRow
	for _, m := range f.GetMetric() {
		if label(m, "model") != model {
			continue
		}
		row := memoryRow{Device: label(m, "device")}
		row.Item, row.By = splitItem(label(m, "item"))
		i := slices.IndexFunc(rows, func(r memoryRow) bool { return r.Device == row.Device && r.Item == row.Item })
		if i < 0 {
			i = len(rows)
			rows = append(rows, row)
		}
		if label(m, "source") == "planned" {
			rows[i].Planned = m.GetGauge().GetValue()
		} else {
			rows[i].Measured = m.GetGauge().GetValue()
		}
	}
	return rows
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// number is a label that this server wrote as a number.
func number(m *dto.Metric, name string) int {
	n, _ := strconv.Atoi(label(m, name))
	return n
}

// valuesBy collects a model's values of a family by one label.
func valuesBy(f *dto.MetricFamily, model, by string) map[string]float64 {
	values := map[string]float64{}
	for _, m := range f.GetMetric() {
		if label(m, "model") == model {
			values[label(m, by)] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}
