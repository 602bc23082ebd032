package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"

	"dure/inference/chat/jinja"
)

// parseJSON reads one JSON value as Python's json.loads does: keys keep their
// order, and integers stay integers.
func parseJSON(data []byte) (jinja.Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := nextJSON(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

// nextJSON reads one value.
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
