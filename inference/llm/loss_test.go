package llm_test

import (
	"slices"
	"strings"
	"testing"

	"dure/gguf"
	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
	"dure/inference/prefix"
	"dure/kvcache/codec"
)

// An answer that goes on from a state that lost something on the disk says so, by class,
// and no other does.
func TestAnswersSayWhatTheDiskLost(t *testing.T) {
	path := enginetest.DemoModel(t)
	m, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	prompt := "Tell me what you think of this. " + strings.Repeat("The mill stood where the river bends, and nobody went there after dark. ", 20)
	for class, lossy := range map[codec.Class]bool{codec.Exact: false, codec.Small: true} {
		dir := t.TempDir()
		onDisk := func(c *llm.Config) {
			if c.Geometry, err = m.Geometry(); err != nil {
				t.Fatal(err)
			}
			c.CacheRAM = 64 << 20
			c.CacheDisk = prefix.Disk{Dir: dir, Bytes: 64 << 20, Model: []byte("m"), Engine: "e", Class: class}
		}
		first := start(t, path, onDisk)
		if _, said := warned(t, first, ask("first", prompt, 4)); len(said) != 0 {
			t.Errorf("%v: what was computed just now: %q", class, said)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := start(t, path, onDisk)
		for _, id := range []string{"from the disk", "from the context"} {
			usage, said := warned(t, second, ask(id, prompt, 4))
			if usage.CachedTokens < 200 {
				t.Fatalf("%v, %s: %d tokens were reused, of %d", class, id, usage.CachedTokens, usage.PromptTokens)
			}
			told := slices.ContainsFunc(said, func(w inference.Warning) bool {
				return w.Code == inference.CodeLossyCache && strings.Contains(w.Message, "class "+class.String())
			})
			if told != lossy || len(said) > 1 {
				t.Errorf("%v, %s: %+v", class, id, said)
			}
		}
	}
}

// warned is the usage and the warnings of an answer.
func warned(t *testing.T, l *llm.LLM, req *inference.Request) (usage inference.Usage, said []inference.Warning) {
	t.Helper()
	for ev, err := range l.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == inference.EventDone {
			usage, said = *ev.Usage, ev.Warnings
		}
	}
	return usage, said
}
