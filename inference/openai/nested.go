package openai

import "encoding/json"

// The fields that are more than one plain value.

func (d *decoder) setStreamOptions(r *chatRequest, t json.Token) error {
	r.streamOptions = true
	return d.object(t, func(name string, t json.Token) (err error) {
		switch {
		case t == nil:
		case name == "include_usage":
			r.includeUsage, err = d.boolean(t)
		case name == "include_obfuscation":
			err = only("false", isBool(false))(d, r, t)
		default:
			err = d.unknown(t)
		}
		return err
	})
}

func (d *decoder) setStop(r *chatRequest, t json.Token) error {
	var stops []string
	add := func(t json.Token) error {
		s, err := d.text(t)
		switch {
		case err != nil:
			return err
		case len(s) == 0 || len(s) > maxStopBytes:
			return d.invalid("a stop string must have 1 to %d bytes, not %d", maxStopBytes, len(s))
		case len(stops) == maxStops:
			return d.invalid("at most %d stop strings are allowed", maxStops)
		}
		stops = append(stops, s)
		return nil
	}
	r.stop = &stops
	switch {
	case begins(t, '['):
		return d.list(t, add)
	case kindOf(t) == "a string":
		return add(t)
	}
	return d.expected("a string or a list of strings", t)
}

func (d *decoder) setMetadata(_ *chatRequest, t json.Token) error {
	if !begins(t, '{') {
		return d.expected("an object", t)
	}
	return d.skip(t)
}

func (d *decoder) setResponseFormat(_ *chatRequest, t json.Token) error {
	kind := ""
	err := d.object(t, func(name string, t json.Token) (err error) {
		switch name {
		case "type":
			if kind, err = d.text(t); err == nil && kind != "text" {
				err = d.unsupported("the response format %q is not supported; leave it out or set it to \"text\"", clip(kind))
			}
		case "json_schema":
			err = d.unsupported("not supported; leave it out")
		default:
			err = d.unknown(t)
		}
		return err
	})
	if err == nil && kind == "" {
		err = d.missing("type")
	}
	return err
}

func (d *decoder) setModalities(_ *chatRequest, t json.Token) error {
	return d.list(t, func(t json.Token) error {
		s, err := d.text(t)
		if err == nil && s != "text" {
			err = d.unsupported("the modality %q is not supported; the only one is \"text\"", clip(s))
		}
		return err
	})
}
