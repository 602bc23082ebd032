package llm_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dure/gguf"
	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
	"dure/inference/prefix"
)

// A conversation goes on after its model was unloaded and loaded again: the answer
// comes back as it was drawn, and what was computed is found on the disk.
func TestPastAnswersReenterAfterAReload(t *testing.T) {
	path, dir := enginetest.DemoModel(t), t.TempDir()
	m, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	onDisk := func(c *llm.Config) {
		if c.Geometry, err = m.Geometry(); err != nil {
			t.Fatal(err)
		}
		c.Context, c.CacheRAM = 768, 256<<20
		c.CacheDisk = prefix.Disk{Dir: dir, Bytes: 256 << 20, Model: []byte("m"), Engine: "e"}
	}
	const next = "<|im_end|>\n<|im_start|>user\nGo on.<|im_end|>\n<|im_start|>assistant\n"
	first := start(t, path, onDisk)
	s := said(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s.l = start(t, path, onDisk)
	before := slices.Concat(s.prompt, s.sampled)
	begins(t, s.l, s.next("Go on."), next, before)
	a := mustCollect(t, s.l, func() *inference.Request {
		r := s.request()
		r.Messages = append(r.Messages, inference.Message{Role: inference.RoleUser, Content: "Go on."})
		return r
	}())
	if read := a.usage.PromptTokens - a.usage.CachedTokens; read > len(encode(t, s.l, next))+1 {
		t.Errorf("%d of %d tokens were read, %d had been computed", read, a.usage.PromptTokens, len(before))
	}
	if err := s.l.Close(); err != nil {
		t.Fatal(err)
	}

	// A damaged file costs reading the answer again, and is replaced.
	files, err := filepath.Glob(filepath.Join(dir, "*", "answers-1"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	s.l = start(t, path, onDisk)
	if got := s.l.Reentry(); got.Conversations != 0 {
		t.Errorf("%+v of half a file", got)
	}
	s.ask("Go on.")
	if err := s.l.Close(); err != nil {
		t.Fatal(err)
	}
	if again := start(t, path, onDisk).Reentry(); again.Conversations < 1 {
		t.Errorf("afterwards %+v", again)
	}
}

// said is a conversation whose answer the tokeniser would cut into other tokens than
// were drawn.
func said(t *testing.T, l *llm.LLM) *session {
	t.Helper()
	for seed := range uint64(20) {
		s := &session{t: t, l: l, params: inference.Params{Temperature: 1, TopP: 1, Seed: seed, MaxTokens: 40}}
		s.ask("Say good morning in Korean, Thai and Greek.")
		before, anew := slices.Concat(s.prompt, s.sampled), s.anew("Go on.")
		if !slices.Equal(anew[:min(len(anew), len(before))], before) {
			return s
		}
	}
	t.Fatal("all answers are tokenised as they were drawn: this test shows nothing")
	return nil
}
