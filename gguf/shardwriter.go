package gguf

import "fmt"

// WriteShards emits the model as shards of at most tensors tensors each, named
// by ShardPath, and returns their paths. The first has all the metadata. One
// shard is enough for few tensors; it still carries the split keys.
func (w *Writer) WriteShards(prefix string, tensors int) ([]string, error) {
	if w.err != nil {
		return nil, w.err
	}
	if tensors < 1 {
		return nil, fmt.Errorf("gguf: write shards: %d tensors each, must be at least 1", tensors)
	}
	count := max(1, (len(w.tensors)+tensors-1)/tensors)
	if count > 1<<16-1 {
		return nil, fmt.Errorf("gguf: write shards: %d are too many", count)
	}
	var paths []string
	for no := range count {
		part := w.tensors[no*tensors : min((no+1)*tensors, len(w.tensors))]
		path := ShardPath(prefix, no, count)
		if err := w.shard(no, count, part).WriteFile(path); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// shard makes the writer of one shard.
func (w *Writer) shard(no, count int, tensors []pending) *Writer {
	var s Writer
	if no == 0 {
		for _, e := range w.entries {
			s.Set(e.key, e.value)
		}
	} else if w.alignment != 0 {
		// Each file is laid out on its own.
		s.Set(KeyAlignment, uint32(w.alignment))
	}
	s.Set(KeySplitNo, uint16(no))
	s.Set(KeySplitCount, uint16(count))
	s.Set(KeySplitTensors, int32(len(w.tensors)))
	for _, t := range tensors {
		s.Tensor(t.name, t.typ, t.shape, t.data)
	}
	return &s
}
