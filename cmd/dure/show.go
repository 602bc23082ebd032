package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"dure/gguf"
)

func showCommand() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:     "show MODEL",
		Short:   "Show what a model's file says: layers, KV cache and state per sequence, quantisation",
		Example: "  dure show smollm2-135m\n  dure show ./model.gguf --metadata",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := homeDir()
			if err != nil {
				return err
			}
			_, path, err := resolveLocal(home, args)
			if err != nil {
				return err
			}
			m, err := gguf.Open(path)
			if err != nil {
				return err
			}
			defer m.Close()
			g, err := m.Geometry()
			var unknown *gguf.UnknownArchitectureError
			if err != nil && !errors.As(err, &unknown) {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return json.NewEncoder(out).Encode(newShown(g, unknown))
			}
			if unknown != nil {
				fmt.Fprintf(out, "note          %v\n", unknown)
			}
			showGeometry(out, g)
			if all {
				for key, value := range m.Metadata().All() {
					fmt.Fprintf(out, "%s = %s\n", key, value)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "metadata", false, "also print every metadata key")
	return cmd
}

// shown is the geometry with what follows from it.
type shown struct {
	*gguf.Geometry
	KVLayers        int `json:"kv_layers"`
	RecurrentLayers int `json:"recurrent_layers"`
	// KVBytes a token by storage type, where the engine allows it.
	KVBytes    map[string]uint64 `json:"kv_bytes_per_token"`
	StateBytes uint64            `json:"state_bytes_per_sequence"`
	Warning    string            `json:"warning,omitempty"`
}

func newShown(g *gguf.Geometry, unknown *gguf.UnknownArchitectureError) shown {
	s := shown{Geometry: g, KVLayers: g.KVLayers(), RecurrentLayers: g.RecurrentLayers(), KVBytes: map[string]uint64{}, StateBytes: uint64(g.State())}
	for _, t := range kvTypes {
		if kv, err := g.KV(t.kind, t.kind); err == nil {
			s.KVBytes[t.name] = uint64(kv.Total())
		}
	}
	if unknown != nil {
		s.Warning = unknown.Error()
	}
	return s
}

// kvTypes are the storage types of keys and values that are shown.
var kvTypes = []struct {
	name string
	kind gguf.TensorType
}{{"f16", gguf.F16}, {"q8_0", gguf.Q8_0}, {"q4_0", gguf.Q4_0}}

func showGeometry(w io.Writer, g *gguf.Geometry) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-13s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("architecture", "%s", g.Architecture)
	line("name", "%s", orNone(g.Name))
	line("parameters", "%.2f billion, %s, %.2f bits each", float64(g.Parameters)/1e9, size(int64(g.Bytes)), g.BitsPerWeight())
	var types []string
	for _, t := range g.Types {
		types = append(types, fmt.Sprintf("%s %s", t.Type, size(int64(t.Bytes))))
	}
	line("quantisation", "%s (%s)", orNone(g.FileType), strings.Join(types, ", "))
	layers := fmt.Sprintf("%d, of which %d hold keys and values, %d are recurrent", len(g.Layers)-g.MTPLayers, g.KVLayers(), g.RecurrentLayers())
	if g.MTPLayers > 0 {
		layers += fmt.Sprintf("; %d more predict further tokens", g.MTPLayers)
	}
	line("layers", "%s", layers)
	line("context", "%d tokens in training", g.TrainContext)
	if window := g.Window(); window > 0 {
		line("window", "%d tokens in some layers", window)
	}
	for _, t := range kvTypes {
		kv, err := g.KV(t.kind, t.kind)
		if err != nil {
			line("kv "+t.name, "not possible: %v", err)
			continue
		}
		line("kv "+t.name, "%.4g KiB a token, %s for %d tokens", float64(kv.Total())/1024,
			size(int64(kv.Total())*int64(g.TrainContext)), g.TrainContext)
	}
	line("state", "%.2f MiB a sequence, whatever its length", float64(g.State())/(1<<20))
	line("vocabulary", "%d tokens, %s", g.Vocabulary, g.Tokenizer)
	line("embedding", "%d wide, tied to the output: %v", g.Embedding, g.Tied)
}
