package prefix

import (
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/kvcache"
)

// What was saved by a context with one pool for all is read by one with a pool for
// each sequence, and the other way round.
func TestStatesOutliveAnotherNumberOfSequences(t *testing.T) {
	path := written(t, synth.Qwen35, synth.Config{Layers: 8})
	disk := Disk{Dir: t.TempDir(), Bytes: 64 << 20, Model: []byte("model"), Engine: "engine"}
	prompt := make([]int32, 200)
	for i := range prompt {
		prompt[i] = int32(10 + i%50)
	}
	for i, unified := range []bool{false, true, false} {
		r := subject{path: path, unified: unified, flash: engine.FlashOff, far: 1e-3}.rig(t, Options{RAMBytes: 8 << 20, Disk: disk})
		_, m := r.turn(prompt, []int{100}, 4, 1)
		if i > 0 && m.Tier != kvcache.Disk {
			t.Errorf("unified %v: reused %d tokens from %v, want the disk", unified, m.Reuse, m.Tier)
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
		if n := r.c.Tree.Stats().Failed; n != 0 {
			t.Errorf("unified %v: %d actions failed", unified, n)
		}
		if err := r.c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
