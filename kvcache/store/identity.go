package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"dure/gguf"
	"dure/kvcache/blob"
)

// Identity is all that decides whether the bytes of a state mean the same in
// this context: bytes of one identity are never given to another.
type Identity struct {
	// Model is the fingerprint of the weights: hash and size of the file, and
	// whatever is laid over them.
	Model        []byte
	Architecture string
	// Engine is the version of the libraries.
	Engine string
	// Keys and Values are the types of the cache.
	Keys, Values gguf.TensorType
	Rope         gguf.Rope
	// Rotated: keys and values are rotated before they are quantised.
	Rotated bool
	// Layers has one letter for each layer of the model: a for attention, w with
	// a window, r for recurrent.
	Layers string
	// Layout is the proven form of the bytes. The number of streams counts for
	// Opaque ones only: others are cut and joined again for the context at hand.
	Layout blob.Layout
	Opaque bool
}

// card is the canonical text of an identity, as it lies in each file.
type card struct {
	Model        string          `json:"model"`
	Architecture string          `json:"architecture"`
	Engine       string          `json:"engine"`
	Keys         gguf.TensorType `json:"keys"`
	Values       gguf.TensorType `json:"values"`
	Rope         gguf.Rope       `json:"rope"`
	Rotated      bool            `json:"rotated"`
	Layers       string          `json:"layers"`
	Layout       string          `json:"layout"`
	Opaque       bool            `json:"opaque"`
}

func (id Identity) canonical() ([]byte, error) {
	text, err := json.Marshal(card{
		Model: hex.EncodeToString(id.Model), Architecture: id.Architecture, Engine: id.Engine,
		Keys: id.Keys, Values: id.Values, Rope: id.Rope, Rotated: id.Rotated, Layers: id.Layers,
		Layout: form(id.Layout, id.Opaque), Opaque: id.Opaque,
	})
	if err != nil {
		return nil, fmt.Errorf("encode identity: %w", err)
	}
	if len(text) > maxIdentity {
		return nil, fmt.Errorf("encode identity: %d bytes, at most %d", len(text), maxIdentity)
	}
	return text, nil
}

// Key is a short name for the identity, fit for a folder.
func (id Identity) Key() (string, error) {
	text, err := id.canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// difference names the fields in which two identities differ, for the log.
func difference(theirs, ours []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(theirs, &a) != nil || json.Unmarshal(ours, &b) != nil {
		return "identity of an unknown form"
	}
	var out []string
	for _, name := range []string{"model", "architecture", "engine", "keys", "values", "rope", "rotated", "layers", "layout", "opaque"} {
		if !bytes.Equal(a[name], b[name]) {
			out = append(out, fmt.Sprintf("%s %s, not %s", name, a[name], b[name]))
		}
	}
	if len(out) == 0 {
		return "identity of an unknown form"
	}
	return strings.Join(out, "; ")
}

// form writes a layout with equal rows counted, not repeated.
func form(l blob.Layout, streams bool) string {
	var b strings.Builder
	for _, p := range l.Pools {
		fmt.Fprintf(&b, "pool extra=%d window=%d transposed=%v", p.Extra, p.Window, p.Transposed)
		if streams {
			fmt.Fprintf(&b, " streams=%d", p.Streams)
		}
		fmt.Fprintf(&b, " keys=%s values=%s; ", rowsText(p.Keys), rowsText(p.Values))
	}
	if r := l.Recurrent; r != nil {
		fmt.Fprintf(&b, "recurrent layers=%d conv=%s delta=%s; ", r.Layers, rowsText(r.Conv), rowsText(r.Delta))
	}
	return b.String()
}

func rowsText(rows []blob.Row) string {
	var parts []string
	for i := 0; i < len(rows); {
		n := 1
		for i+n < len(rows) && rows[i+n] == rows[i] {
			n++
		}
		parts = append(parts, fmt.Sprintf("%dx%v*%d", n, rows[i].Type, rows[i].Width))
		i += n
	}
	return strings.Join(parts, ",")
}
