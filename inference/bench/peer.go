package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"dure/inference/fetch"
)

// Peer runs one of the engine's own tools with these arguments.
type Peer func(tool string, args ...string) (fetch.Process, error)

// PeerShape is what a peer is asked to compute.
type PeerShape struct {
	ModelPath        string // absolute
	Threads          int
	GPULayers        int
	Prompt, Generate int // tokens
	Repetitions      int
	Streams          int // of llama-batched-bench
}

func (s PeerShape) common() []string {
	return []string{"-m", s.ModelPath, "-t", strconv.Itoa(s.Threads), "-ngl", strconv.Itoa(max(s.GPULayers, 0)), "-ub", "512"}
}

// LlamaBench runs llama-bench and returns the median tokens a second of prefill
// and decode.
func LlamaBench(ctx context.Context, peer Peer, s PeerShape) (prefill, decode float64, err error) {
	args := append(s.common(), "-p", strconv.Itoa(s.Prompt), "-n", strconv.Itoa(s.Generate), "-r", strconv.Itoa(s.Repetitions), "-o", "json")
	out, err := runPeer(ctx, peer, "llama-bench", args)
	if err != nil {
		return 0, 0, err
	}
	var rows []struct {
		Prompt   int       `json:"n_prompt"`
		Generate int       `json:"n_gen"`
		Samples  []float64 `json:"samples_ts"`
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		return 0, 0, fmt.Errorf("llama-bench: %w", err)
	}
	for _, r := range rows {
		if r.Generate == 0 {
			prefill = Median(r.Samples)
		} else if r.Prompt == 0 {
			decode = Median(r.Samples)
		}
	}
	if prefill == 0 || decode == 0 {
		return 0, 0, fmt.Errorf("llama-bench printed no figures: %.200s", out)
	}
	return prefill, decode, nil
}

// BatchedBench runs llama-batched-bench with s.Streams sequences and returns
// their total decode rate in tokens a second.
func BatchedBench(ctx context.Context, peer Peer, s PeerShape) (float64, error) {
	args := append(s.common(), "-c", strconv.Itoa((s.Prompt+s.Generate+8)*s.Streams), "-b", "512",
		"-npp", strconv.Itoa(s.Prompt), "-ntg", strconv.Itoa(s.Generate), "-npl", strconv.Itoa(s.Streams), "--output-format", "jsonl")
	out, err := runPeer(ctx, peer, "llama-batched-bench", args)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(out) {
		var row struct {
			Streams int     `json:"pl"`
			Rate    float64 `json:"speed_tg"`
		}
		if json.Unmarshal(line, &row) == nil && row.Streams == s.Streams && row.Rate > 0 {
			return row.Rate, nil
		}
	}
	return 0, fmt.Errorf("llama-batched-bench printed no figures: %.200s", out)
}

// runPeer returns what the tool wrote to its output. The tools mix their log
// into it where it is no JSON, which the callers skip.
func runPeer(ctx context.Context, peer Peer, tool string, args []string) ([]byte, error) {
	p, err := peer(tool, args...)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	p.Output = &out
	if err := fetch.Run(ctx, p); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p, err), errors.New(tailOf(out.String())))
	}
	return jsonPart(out.Bytes()), nil
}

// jsonPart drops the log lines before the first line of JSON.
func jsonPart(out []byte) []byte {
	var kept []byte
	inside := false
	for line := range bytes.Lines(out) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
			inside = true
		}
		if inside {
			kept = append(kept, line...)
		}
	}
	return kept
}

func tailOf(s string) string { return s[max(0, len(s)-500):] }
