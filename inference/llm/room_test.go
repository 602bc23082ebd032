package llm

import (
	"log/slog"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/sched"
)

// A request that found no room while something was under way is placed when that has
// ended, though another runs and goes on: it does not wait for the end of its answer.
func TestRoomIsOfferedWhileOthersRun(t *testing.T) {
	l, err := New(enginetest.Load(t, enginetest.Llama(t, synth.Config{})), Config{Name: "test", Context: 512, Sequences: 2, Queue: 2, Threads: 1, FlashAttention: engine.FlashOff}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o, err := l.newOwner() // beside the model's own: this one is led by hand
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	for id := range sched.ID(2) {
		r := &request{id: id + 1, prompt: []engine.Token{1, 2, engine.Token(3 + id)}, maxTokens: 100, outbox: make(chan item, 200)}
		o.take(command{submit: r})
		if id == 1 { // the cache was busy when it asked
			o.sched.Full(o.now(), r.id)
			o.starved = true
		}
		if err := o.arrange(); err != nil {
			t.Fatal(err)
		}
		if r.slot < 0 {
			t.Errorf("request %d has no sequence", r.id)
		}
	}
}
