package codec

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"dure/gguf"

	"golang.org/x/sys/unix"
)

// benchState is a state of the geometry of SmolLM2-135M (six of its layers), and
// a basis. MB/s are of its f16 numbers, on one core:
//
//	go test ./kvcache/codec -run '^$' -bench .
var benchState = sync.OnceValues(func() ([]byte, *Basis) {
	f := benchForm()
	state := stateOf(f, 2048, rand.New(rand.NewPCG(1, 1)))
	b, err := Calibrate(f, state)
	if err != nil {
		panic(err)
	}
	return state, b
})

// measure runs do, and reports MB of f16 for each second of processor time: what
// a core does, also where others use it.
func measureSpeed(b *testing.B, size int, do func()) {
	b.SetBytes(int64(size))
	begin := cpuTime(b)
	n := 0
	for b.Loop() {
		do()
		n++
	}
	b.ReportMetric(float64(n)*float64(size)/1e6/(cpuTime(b)-begin).Seconds(), "MB/cpu-s")
}

func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchForm() Form {
	return formFor(6, shape{3, 64, Rotary{Dims: 64, Base: 100000, Scale: 1}}, gguf.F16, gguf.F16, 0, 0, false, false)
}

func BenchmarkEncode(b *testing.B) {
	state, basis := benchState()
	for _, class := range Classes() {
		b.Run(class.String(), func(b *testing.B) {
			c, dst := NewCoder(1), []byte(nil)
			measureSpeed(b, len(state), func() {
				var err error
				if dst, err = c.Encode(dst[:0], state, benchForm(), class, basis); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(float64(len(state))/float64(len(dst)), "x")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	state, basis := benchState()
	for _, class := range Classes() {
		b.Run(class.String(), func(b *testing.B) {
			coded, err := Encode(nil, state, benchForm(), class, basis)
			if err != nil {
				b.Fatal(err)
			}
			c, dst := NewCoder(1), []byte(nil)
			measureSpeed(b, len(state), func() {
				if dst, err = c.Decode(dst[:0], coded, benchForm(), basis); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkCombine is the reference beside the assembly.
func BenchmarkCombine(b *testing.B) {
	for name, do := range map[string]func(dst, weights, rows []float32){"go": combineGo, "best": combine} {
		b.Run(fmt.Sprintf("%s/192", name), func(b *testing.B) {
			dst, w, rows := make([]float32, 192), make([]float32, 192), make([]float32, 192*192)
			b.SetBytes(192 * 192 * 4)
			for b.Loop() {
				do(dst, w, rows)
			}
		})
	}
}
