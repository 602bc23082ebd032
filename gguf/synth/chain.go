package synth

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"dure/gguf"
)

// A model of Config.Chain follows a chain: behind token t it expects token t+1, and
// its MTP block does, too. Row t+1 of the output matrix points where the embedding of
// t does, and the MTP block reads the token alone. What the other blocks add, times
// Config.Noise, disturbs that: the model's and the block's own disturbance differ, so
// that the more there is, the less often the block guesses what the model says.

// noise is what is left of what a block adds.
func (b *builder) noise() float64 {
	if b.Chain {
		return b.Noise
	}
	return 1
}

// adds adds the matrix by which a block adds to the hidden state.
func (b *builder) adds(name string, in, out int) {
	b.spread(name, b.noise()/math.Sqrt(float64(in)), in, out)
}

// table adds a matrix with a row for each token, where row t is the direction of
// token source(t).
func (b *builder) table(name string, t gguf.TensorType, std float64, source func(row int) int) {
	b.add(name, t, []uint64{uint64(b.Embedding), uint64(b.Vocabulary)}, directions(b.Seed, t, std, b.Vocabulary, uint64(b.Embedding), source))
}

// directions are rows of random elements, each of a generator that starts from the
// seed and the token alone: the same row in another table points the same way.
func directions(seed uint64, t gguf.TensorType, std float64, rows int, width uint64, source func(row int) int) gguf.Data {
	return func(w io.Writer) error {
		fill := fillers[t](std)
		for row := range rows {
			var token [8]byte
			binary.LittleEndian.PutUint64(token[:], uint64(source(row)))
			h := fnv.New64a()
			h.Write(token[:])
			if err := blocks(w, fill, rand.New(rand.NewPCG(seed, h.Sum64())), width/t.BlockSize(), t.BlockBytes()); err != nil {
				return err
			}
		}
		return nil
	}
}

// itself is the token of a row; before is the one that the chain has before it.
func itself(row int) int { return row }

func (b *builder) before(row int) int { return (row + b.Vocabulary - 1) % b.Vocabulary }

// rowNoise is enough for wrong rows to be seen in the guesses.
const rowNoise = 2

// firstHalf adds a matrix that takes the first half of its input as it is, and noise of
// the other one.
func (b *builder) firstHalf(name string, n int) {
	std := rowNoise * b.noise() / math.Sqrt(float64(n))
	b.add(name, gguf.F32, []uint64{uint64(2 * n), uint64(n)}, func(w io.Writer) error {
		other := directions(b.Seed, gguf.F32, std, n, uint64(n), itself)
		var rows bytes.Buffer
		if err := other(&rows); err != nil {
			return err
		}
		row := make([]byte, 4*2*n)
		for i := range n {
			clear(row)
			binary.LittleEndian.PutUint32(row[4*i:], math.Float32bits(1))
			copy(row[4*n:], rows.Next(4*n))
			if _, err := w.Write(row); err != nil {
				return err
			}
		}
		return nil
	})
}
