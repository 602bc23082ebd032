package main

import (
	"encoding/json"
	"fmt"

	"dure"
	"dure/gguf"
	"dure/inference/catalog"
)

// builtinGeometry is the geometry of a model of the built-in catalogue whose
// file need not be here: geometry.json, which TestGeometryCompanion generates.
// nil where there is none for that very file.
func builtinGeometry(e catalog.Entry) (*gguf.Geometry, error) {
	var all map[string]companion
	if err := json.Unmarshal(dure.GeometryJSON, &all); err != nil {
		return nil, fmt.Errorf("built-in geometry.json: %w", err)
	}
	c, ok := all[e.Name]
	if !ok || c.SHA256 != e.SHA256 {
		return nil, nil
	}
	return c.Geometry, nil
}

// companion is an entry of geometry.json.
type companion struct {
	// SHA256 of the file that it is about.
	SHA256   string         `json:"sha256"`
	Geometry *gguf.Geometry `json:"geometry"`
}
