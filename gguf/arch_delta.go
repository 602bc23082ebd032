package gguf

// gatedDelta holds for the hybrids of gated delta networks and attention:
// qwen3next, qwen35 and qwen35moe. Unless a list says otherwise every fourth
// layer is attention. MTP layers are always attention.
//
// The convolution state holds the last kernel-1 inputs of the channels for
// values, queries and keys; the delta state is one matrix of state_size times
// state_size per value head.
func gatedDelta(d *deriver) error {
	dims := make([]uint64, 4)
	for i, name := range []string{"ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.group_count"} {
		n, err := d.need(name)
		if err != nil {
			return err
		}
		dims[i] = uint64(n)
	}
	conv, inner, state, groups := dims[0], dims[1], dims[2], dims[3]
	// Bounded one by one, so that no product overflows.
	if state*inner > maxWidth || groups*state > maxWidth || conv*(inner+2*groups*state) > maxWidth {
		return d.md.bad(d.key("ssm.inner_size"), "state of %d x %d with %d groups and a kernel of %d is too large", inner, state, groups, conv)
	}
	recurrent, err := d.recurrentLayers()
	if err != nil {
		return err
	}
	for i := range d.g.Layers {
		l := &d.g.Layers[i]
		if l.Recurrent = recurrent[i] && !l.MTP; l.Recurrent {
			l.ConvState = int((conv - 1) * (inner + 2*groups*state))
			l.DeltaState = int(state * inner)
		}
	}
	return nil
}

func (d *deriver) recurrentLayers() ([]bool, error) {
	n := len(d.g.Layers)
	recurrent := make([]bool, n)
	list, found, err := d.md.list(d.key("attention.recurrent_layers"), n)
	if err != nil {
		return nil, err
	}
	if found {
		for i, v := range list {
			recurrent[i] = v != 0
		}
		return recurrent, nil
	}
	every, err := d.int("full_attention_interval", 4)
	if err != nil {
		return nil, err
	}
	if every == 0 {
		return nil, d.md.bad(d.key("full_attention_interval"), "must not be 0")
	}
	for i := range recurrent {
		recurrent[i] = (i+1)%every != 0
	}
	return recurrent, nil
}
