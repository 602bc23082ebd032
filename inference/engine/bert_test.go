package engine_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
)

// weights are the F32 tensors of a file by name, in the order of the file.
type weights map[string][]float32

func writeModel(t testing.TB, write func(io.Writer, synth.Config) error, cfg synth.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := write(f, cfg); err != nil {
		t.Fatal(err)
	}
	return path
}

func readWeights(t testing.TB, path string) weights {
	t.Helper()
	f, err := gguf.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := weights{}
	for _, x := range f.Tensors {
		if x.Type != gguf.F32 {
			t.Fatalf("%s is %v, this reads F32", x.Name, x.Type)
		}
		v := make([]float32, x.Elements)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[x.Offset+uint64(4*i):]))
		}
		all[x.Name] = v
	}
	return all
}

// bert is the model as its paper has it, in double precision and one token after the
// other: what the engine is held to.
type bert struct {
	weights
	layers, width, heads int
}

// hidden are the vectors of all tokens behind the last layer.
func (b bert) hidden(tokens []int32) [][]float64 {
	rows := make([][]float64, len(tokens))
	for i, tok := range tokens {
		rows[i] = make([]float64, b.width)
		for k := range rows[i] {
			rows[i][k] = float64(b.weights["token_embd.weight"][int(tok)*b.width+k]) +
				float64(b.weights["token_types.weight"][k]) + float64(b.weights["position_embd.weight"][i*b.width+k])
		}
	}
	b.normalise("token_embd_norm", rows)
	for l := range b.layers {
		p := fmt.Sprintf("blk.%d.", l)
		b.add(rows, b.linear(p+"attn_output", b.attend(b.linear(p+"attn_q", rows), b.linear(p+"attn_k", rows), b.linear(p+"attn_v", rows))))
		b.normalise(p+"attn_output_norm", rows)
		up := b.linear(p+"ffn_up", rows)
		for _, r := range up {
			for k, x := range r {
				r[k] = x * 0.5 * (1 + math.Erf(x/math.Sqrt2))
			}
		}
		b.add(rows, b.linear(p+"ffn_down", up))
		b.normalise(p+"layer_output_norm", rows)
	}
	return rows
}

func (b bert) linear(name string, rows [][]float64) [][]float64 {
	m, bias := b.weights[name+".weight"], b.weights[name+".bias"]
	in := len(rows[0])
	out := make([][]float64, len(rows))
	for i, r := range rows {
		out[i] = make([]float64, len(bias))
		for o := range out[i] {
			sum := float64(bias[o])
			for k, x := range r {
				sum += x * float64(m[o*in+k])
			}
			out[i][o] = sum
		}
	}
	return out
}

func (b bert) attend(q, k, v [][]float64) [][]float64 {
	head := b.width / b.heads
	out := make([][]float64, len(q))
	for i := range q {
		out[i] = make([]float64, b.width)
		for h := range b.heads {
			at, sum := h*head, 0.0
			score := make([]float64, len(k))
			for j := range k {
				for d := range head {
					score[j] += q[i][at+d] * k[j][at+d]
				}
				score[j] = math.Exp(score[j] / math.Sqrt(float64(head)))
				sum += score[j]
			}
			for j := range v {
				for d := range head {
					out[i][at+d] += score[j] / sum * v[j][at+d]
				}
			}
		}
	}
	return out
}

func (b bert) add(rows, more [][]float64) {
	for i := range rows {
		for k := range rows[i] {
			rows[i][k] += more[i][k]
		}
	}
}

func (b bert) normalise(name string, rows [][]float64) {
	scale, shift := b.weights[name+".weight"], b.weights[name+".bias"]
	for _, r := range rows {
		var mean, variance float64
		for _, x := range r {
			mean += x / float64(len(r))
		}
		for _, x := range r {
			variance += (x - mean) * (x - mean) / float64(len(r))
		}
		for k, x := range r {
			r[k] = (x-mean)/math.Sqrt(variance+1e-12)*float64(scale[k]) + float64(shift[k])
		}
	}
}

// scores are those of the classes, from the first token's vector.
func (b bert) scores(first []float64) []float64 {
	inner := b.linear("cls", [][]float64{first})
	for k, x := range inner[0] {
		inner[0][k] = math.Tanh(x)
	}
	return b.linear("cls.output", inner)[0]
}

func meanOf(rows [][]float64) []float64 {
	mean := make([]float64, len(rows[0]))
	for _, r := range rows {
		for k, x := range r {
			mean[k] += x / float64(len(rows))
		}
	}
	return mean
}
