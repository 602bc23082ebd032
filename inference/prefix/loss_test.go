package prefix

import (
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/kvcache"
	"dure/kvcache/codec"
)

// What comes back from files that lost something is told of, also of sequences
// that go on from it, and of nothing else; files of a class outlive a change of it.
func TestLossIsTold(t *testing.T) {
	path := written(t, synth.Qwen35, synth.Config{Layers: 8})
	prompt := make([]int32, 300)
	for i := range prompt {
		prompt[i] = int32(10 + i*i%57)
	}
	disk := Disk{Dir: t.TempDir(), Bytes: 64 << 20, Model: []byte("model"), Engine: "engine"}
	for i, class := range []codec.Class{codec.Small, codec.Near, 0} {
		disk.Class = class
		r := subject{path: path, unified: true, flash: engine.FlashOff, kl: 1}.rig(t, Options{RAMBytes: 8 << 20, Disk: disk})
		_, m := r.turn(prompt, []int{200}, 4, 1)
		want := codec.Class(0)
		if i > 0 {
			want = codec.Small
			if m.Tier != kvcache.Disk {
				t.Fatalf("class %v: reused %d tokens from %v, want the disk", class, m.Reuse, m.Tier)
			}
		}
		idle := r.c.Idle()
		if len(idle) != 1 || r.c.Loss(idle[0]) != want {
			t.Errorf("class %v: sequences %v, loss %v, want %v", class, idle, r.c.Loss(idle[0]), want)
		}
		if _, m := r.turn(append(prompt[:200:200], 7, 8, 9), nil, 2, 2); m.Reuse != 200 {
			t.Fatalf("class %v: reused %d tokens, want what it has in common with the first", class, m.Reuse)
		}
		other := make([]int32, 100)
		for k := range other {
			other[k] = int32(70 + (k*(i+3))%101)
		}
		r.turn(other, nil, 2, 3)
		told := 0
		for _, seq := range r.c.Idle() {
			if r.c.Loss(seq) == want {
				told++
			}
		}
		if len(r.c.Idle()) != 3 || want > 0 && told != 2 || want == 0 && told != 3 {
			t.Errorf("class %v: %d of sequences %v have lost %v", class, told, r.c.Idle(), want)
		}
		for _, seq := range r.c.Idle() {
			r.c.Backup(r.now, seq)
		}
		r.pump()
		for range 10 { // a few files at a time
			r.c.Balance(r.now)
			r.pump()
			r.fetched()
		}
		if s := r.c.Stats(); s.Failed != 0 || s.NoDisk != "" || i == 0 && s.Classes["small"].Objects != s.Disk.Objects {
			t.Errorf("class %v: %+v", class, s)
		}
		if err := r.c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
