// Package dure holds the built-in catalogue, models.yaml, and nothing else: a
// file can only be embedded by a package in its own folder. Only cmd/dure
// imports it.
package dure

import _ "embed"

// ModelsYAML is the committed catalogue.
//
//go:embed models.yaml
var ModelsYAML []byte
