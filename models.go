// Package dure holds the built-in catalogue, models.yaml, and what is known of
// its models' files without having them, geometry.json; nothing else: a file
// can only be embedded by a package in its own folder. Only cmd/dure imports it.
package dure

import _ "embed"

// ModelsYAML is the committed catalogue.
//
//go:embed models.yaml
var ModelsYAML []byte

// GeometryJSON tells the shapes of the catalogue's models, so that a memory plan
// can be made before anything is downloaded. `go test ./cmd/dure -run Companion
// -args -update` generates it.
//
//go:embed geometry.json
var GeometryJSON []byte
