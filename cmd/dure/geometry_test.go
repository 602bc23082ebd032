package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"dure"
	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/catalog"
)

var update = flag.Bool("update", false, "write geometry.json, or README's table of routes, anew")

// What geometry.json says follows from the files, or where a file is too large
// to have here, from one of its shape and from its size in the catalogue.
func TestGeometryCompanion(t *testing.T) {
	c, err := catalog.Decode("models.yaml", dure.ModelsYAML)
	if err != nil {
		t.Fatal(err)
	}
	pullGemma(t)
	all := map[string]companion{}
	for name, geometry := range map[string]func(*testing.T, catalog.Entry) *gguf.Geometry{
		"smollm2-135m":   fileGeometry,
		gemma:            fileGeometry,
		"qwen3.8-27b":    func(t *testing.T, e catalog.Entry) *gguf.Geometry { return shapeGeometry(t, e, gguf.Q4K) },
		"qwen3.8-27b-q8": func(t *testing.T, e catalog.Entry) *gguf.Geometry { return shapeGeometry(t, e, gguf.Q8_0) },
	} {
		e, ok := c.Find(name)
		if !ok {
			t.Fatalf("%s is not in models.yaml", name)
		}
		all[name] = companion{e.SHA256, geometry(t, e)}
	}
	want, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("../../geometry.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, dure.GeometryJSON) {
		t.Error("geometry.json is not what the files say; run `go test ./cmd/dure -run Companion -args -update`")
	}
	for name := range all {
		e, _ := c.Find(name)
		g, err := builtinGeometry(e)
		if err != nil || g == nil {
			t.Errorf("%s: %v", name, err)
		}
		e.SHA256 = "another"
		if g, _ := builtinGeometry(e); g != nil {
			t.Errorf("%s: the geometry of another file was taken", name)
		}
	}
}

func fileGeometry(t *testing.T, e catalog.Entry) *gguf.Geometry {
	home, err := homeDir()
	if err != nil {
		t.Fatal(err)
	}
	path, ok := catalog.Local(home, e)
	if !ok {
		t.Fatalf("%s is not on this machine", e.Name)
	}
	g, _ := readGeometry(t, path)
	return g
}

// readGeometry returns a file's geometry and how many bytes its header takes.
func readGeometry(t *testing.T, path string) (g *gguf.Geometry, header uint64) {
	m, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if g, err = m.Geometry(); err != nil {
		t.Fatal(err)
	}
	return g, m.Files[0].DataOffset
}

// shapeGeometry is that of a file of the same dimensions, its weights scaled to
// the size of the real one: mixes of quantisation differ, tensor by tensor.
func shapeGeometry(t *testing.T, e catalog.Entry, weights gguf.TensorType) *gguf.Geometry {
	w, err := synth.NewQwen35(synth.Qwen27B(weights, 1))
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/shape.gguf"
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	g, header := readGeometry(t, path)
	scaleWeights(g, uint64(e.Bytes)-header)
	g.Name, g.FileType, g.Types = "", "", nil // those are the shape's
	return g
}

// scaleWeights makes a geometry's weights add up to bytes.
func scaleWeights(g *gguf.Geometry, bytes uint64) {
	scale := func(n uint64) uint64 { return uint64(float64(n) * float64(bytes) / float64(g.Bytes)) }
	for i := range g.Layers {
		g.Layers[i].Bytes = scale(g.Layers[i].Bytes)
	}
	for i := range g.Kinds {
		g.Kinds[i].Bytes = scale(g.Kinds[i].Bytes)
	}
	g.Bytes = bytes
}
