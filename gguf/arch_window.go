package gguf

// gemma3 has a window in five of six layers if the file names one.
func gemma3(d *deriver) error {
	window, err := d.int("attention.sliding_window", 0)
	if err != nil || window == 0 {
		return err
	}
	return d.windows(window, 6)
}

// gemma2 has a window in every other layer, of 4096 tokens by default.
func gemma2(d *deriver) error {
	window, err := d.int("attention.sliding_window", 4096)
	if err != nil {
		return err
	}
	return d.windows(window, 2)
}

// gptOSS has a window in every other layer.
func gptOSS(d *deriver) error {
	window, err := d.need("attention.sliding_window")
	if err != nil {
		return err
	}
	return d.windows(window, 2)
}

// windows sets the window of the layers that have one. The pattern is a list
// (true for a window) or a period p: the last of every p layers has none; 0
// means that all have one.
func (d *deriver) windows(window, period int) error {
	key := d.key("attention.sliding_window_pattern")
	v, _ := d.md.Get(key)
	list := v.Type() == Array
	if !list {
		var err error
		if period, err = d.int("attention.sliding_window_pattern", period); err != nil {
			return err
		}
	} else if v.Len() > MaxLayers {
		return d.md.bad(key, "%d elements, the engine reads at most %d", v.Len(), MaxLayers)
	}
	has := make([]bool, len(d.g.Layers))
	if list {
		for i, e := range v.Elements() {
			n, err := number(e)
			if err != nil {
				return d.md.bad(key, "element %d: %w", i, err)
			}
			if i < len(has) {
				has[i] = n != 0
			}
		}
	} else {
		for i := range d.trunk {
			has[i] = period == 0 || i%period < period-1
		}
	}
	found := false
	for i := range d.g.Layers {
		if has[i] {
			d.g.Layers[i].Window = window
			found = true
		}
	}
	if !found || window == 0 {
		return d.md.bad(key, "no layer has a window of %d tokens, which aborts the engine", window)
	}
	return nil
}
