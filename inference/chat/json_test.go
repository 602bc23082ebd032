package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"testing"

	"dure/inference/chat/jinja"
)

// fromJSON reads a JSON value as Python's json.loads does: keys keep their
// order, and integers stay integers.
func fromJSON(t *testing.T, data []byte) jinja.Value {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := nextJSON(d)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one value in %s", data)
	}
	return v
}

func nextJSON(d *json.Decoder) (jinja.Value, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		var items []jinja.Value
		for d.More() {
			v, err := nextJSON(d)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
		}
		_, err := d.Token()
		return jinja.NewList(items...), err
	case json.Delim('{'):
		out := jinja.NewDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := nextJSON(d)
			if err != nil {
				return nil, err
			}
			out.Set(key.(string), v)
		}
		_, err := d.Token()
		return out, err
	}
	if n, ok := token.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i, nil
		}
		if i, ok := new(big.Int).SetString(n.String(), 10); ok {
			return i, nil
		}
		f, err := n.Float64()
		return f, err
	}
	switch token.(type) {
	case nil, bool, string:
		return token, nil
	}
	return nil, fmt.Errorf("unexpected %v", token)
}
