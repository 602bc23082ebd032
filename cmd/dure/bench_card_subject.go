package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"dure/gguf"
	benchcard "dure/inference/bench/card"
	"dure/inference/device"
)

// describe says what is measured, in exact versions.
func (r *cardRig) describe(ctx context.Context) (benchcard.Subject, error) {
	h := r.host
	s := benchcard.Subject{
		Dure: buildVersion(), Engine: fmt.Sprintf("%s, llama.cpp %s", h.engine.Variant, h.engine.Version),
		CPU: h.report.CPU.Model, Cores: h.report.CPU.Usable, Threads: h.threads(), Memory: h.report.Memory.Total,
		System: runtime.GOOS + "/" + runtime.GOARCH, Model: r.entry.Name, Quick: r.opt.quick,
		Layout: fmt.Sprintf("cache %s/%s, micro batch %d", r.placed.llm.KeyType, r.placed.llm.ValueType, r.microBatch()),
	}
	if h.engine.gpu() != nil {
		layers := "all layers"
		if r.placed.layers >= 0 {
			layers = fmt.Sprintf("%d layers", r.placed.layers)
		}
		s.Layout = layers + " on cards, " + s.Layout
	}
	for _, d := range r.devices {
		if d.Kind != device.Processor && len(d.Seen) > 0 {
			name := d.Name
			if d.Kind == device.Software {
				name += " (a device in software, on the CPU)"
			}
			s.Devices = append(s.Devices, strings.TrimSpace(fmt.Sprintf("%s, driver %s %s", name, orNotTold(d.Driver), d.DriverVersion)))
		}
	}
	m, err := gguf.Open(r.path)
	if err != nil {
		return s, fmt.Errorf("model %s: %w", r.entry.Name, err)
	}
	defer m.Close()
	var files []string
	for _, f := range m.Files {
		files = append(files, f.Path)
	}
	if r.placed.plan != nil {
		s.Shape = modelKey(r.placed.model)
	}
	s.Files = len(files)
	s.SHA256, err = hashFiles(ctx, files)
	return s, err
}

func orNotTold(s string) string {
	if s == "" {
		return "not told"
	}
	return s
}

// hashFiles is the hash of a file, or that of the hashes of several.
func hashFiles(ctx context.Context, files []string) (string, error) {
	var all []string
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("hash of the model: %w", err)
		}
		h := sha256.New()
		_, err = io.Copy(h, untilDone{ctx, f})
		f.Close() // it was only read
		if err != nil {
			return "", fmt.Errorf("hash of the model: %w", err)
		}
		all = append(all, hex.EncodeToString(h.Sum(nil)))
	}
	if len(all) == 1 {
		return all[0], nil
	}
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
