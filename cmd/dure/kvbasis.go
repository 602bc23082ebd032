package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"dure/gguf"
	"dure/inference/bench"
	benchkv "dure/inference/bench/kv"
	"dure/inference/engine"
	"dure/kvcache/blob"
	"dure/kvcache/codec"
)

// calibrationTokens are read to make a model's basis, of texts that are not measured.
const calibrationTokens = 8 << 10

// mostBasis is far beyond that of any model: directions of 256 elements for each layer.
const mostBasis = 512 << 20

// basisFile holds the basis of the model with a fingerprint. It begins with the number
// of its form, which is in the name too: a later form is left alone.
func basisFile(home, fingerprint string) string {
	return filepath.Join(home, "kv-basis-1-"+fingerprint)
}

// basisForm is that of a model's states: the same for all types of cells.
func basisForm(g *gguf.Geometry) (codec.Form, error) {
	layout, err := blob.Of(g, blob.Options{Keys: gguf.F16, Values: gguf.F16, Streams: 1})
	if err != nil {
		return codec.Form{}, err
	}
	return codec.FormOf(g, layout)
}

// readBasis is the calibration of a model, as its file has it and parsed. An error
// wraps fs.ErrNotExist where there is none.
func readBasis(home, fingerprint string, g *gguf.Geometry) ([]byte, *codec.Basis, error) {
	file := basisFile(home, fingerprint)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("this model is not calibrated: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("calibration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostBasis+1))
	if err == nil && len(data) > mostBasis {
		err = fmt.Errorf("more than %d bytes", mostBasis)
	}
	var form codec.Form
	if err == nil {
		form, err = basisForm(g)
	}
	var basis *codec.Basis
	if err == nil {
		basis, err = codec.ParseBasis(data, form)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("calibration in %s: %w", file, err)
	}
	return data, basis, nil
}

// keepBasis writes a basis: beside its place, brought to the disk, and then renamed.
func keepBasis(home, fingerprint string, data []byte) error {
	tmp := filepath.Join(home, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return fmt.Errorf("keep calibration: %w", err)
	}
	f, err := os.CreateTemp(tmp, "kv-basis-*")
	if err != nil {
		return fmt.Errorf("keep calibration: %w", err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), basisFile(home, fingerprint))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("keep calibration: %w", err)
	}
	return nil
}

// haveBasis takes the model's basis where a setting needs one, and makes it where there
// is none: figures are of the one that a load uses.
func (b *kvBench) haveBasis(ctx context.Context, r *kvRig, opt benchkv.Options) (err error) {
	if !slices.ContainsFunc(opt.Settings, func(s benchkv.Setting) bool { return s.Name == codec.Calibrated.String() }) {
		return nil
	}
	if _, r.basis, err = readBasis(r.home, r.subject.Fingerprint, r.geometry); errors.Is(err, fs.ErrNotExist) {
		return b.makeBasis(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("%w; `dure bench kv %s --calibrate` makes it anew", err, r.subject.Model)
	}
	return nil
}

// calibrated says that the model has a basis that can be used.
func (r *kvRig) calibrated() bool {
	_, _, err := readBasis(r.home, r.subject.Fingerprint, r.geometry)
	return err == nil
}

// makeBasis calibrates the model, and keeps the basis unless nothing is to be kept.
func (b *kvBench) makeBasis(ctx context.Context, r *kvRig) error {
	form, err := basisForm(r.geometry)
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	tokens := calibrationTokens
	if trained := r.geometry.TrainContext; trained > 0 {
		tokens = min(tokens, trained)
	}
	r.say("%s on %s: calibrates on %d tokens", r.subject.Model, r.subject.Engine, tokens)
	var state []byte
	err = bench.WithModel(ctx, r.engine.Set.Lib(), r.path, r.layers(), func(m *engine.Model) (err error) {
		opt := benchkv.Options{Geometry: r.geometry, Seed: b.seed, Threads: r.opt.threads, Poll: defaultPoll}
		state, err = benchkv.Calibration(ctx, m, opt, tokens)
		return err
	})
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if r.basis, err = codec.Calibrate(form, state); err != nil || b.noKeep || r.subject.Synthetic {
		return err
	}
	data, err := r.basis.Append(nil, form)
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if err := keepBasis(r.home, r.subject.Fingerprint, data); err != nil {
		return err
	}
	r.say("calibration kept in %s (%s)", basisFile(r.home, r.subject.Fingerprint), size(int64(len(data))))
	return nil
}
