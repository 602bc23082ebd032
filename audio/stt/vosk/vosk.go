// Package vosk recognises speech while it is spoken, with the Vosk library and its
// models: twenty languages, Korean among them.
//
// It owns the C boundary to libvosk, which it opens at run time. Its recogniser keeps up
// with the speaker: the text so far is known at any moment. It does not decide where an
// utterance ends. The process that serves the speech engines calls it; a fault in the
// library ends that process.
//
// A Model may be used by several goroutines at once, a Stream by one.
package vosk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
)

// Library is the open libvosk.
type Library struct {
	setLogLevel    func(int32)
	modelNew       func(string) uintptr
	modelFree      func(uintptr)
	recognizerNew  func(uintptr, float32) uintptr
	recognizerFree func(uintptr)
	accept         func(uintptr, *float32, int32) int32
	result         func(uintptr) string
	partial        func(uintptr) string
	final          func(uintptr) string
}

// Open loads the library at path, for example .../libvosk.so. It stays loaded until the
// process ends.
func Open(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("open Vosk %s: %w; `dure voice install korean` fetches it", path, err)
	}
	l := &Library{}
	for name, fn := range map[string]any{
		"vosk_set_log_level": &l.setLogLevel, "vosk_model_new": &l.modelNew, "vosk_model_free": &l.modelFree,
		"vosk_recognizer_new": &l.recognizerNew, "vosk_recognizer_free": &l.recognizerFree,
		"vosk_recognizer_accept_waveform_f": &l.accept, "vosk_recognizer_result": &l.result,
		"vosk_recognizer_partial_result": &l.partial, "vosk_recognizer_final_result": &l.final,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("open Vosk %s: it has no %s; use version 0.3.30 or later: %w", path, name, err)
		}
		purego.RegisterFunc(fn, symbol)
	}
	l.setLogLevel(-1) // its log is not ours to show
	return l, nil
}

// Model is a loaded model.
type Model struct {
	l      *Library
	handle uintptr
}

// Load reads the folder of a model. A folder that is none is refused here: the library
// itself may end the process over one.
func (l *Library) Load(dir string) (*Model, error) {
	for _, need := range []string{"am/final.mdl", "conf"} {
		if _, err := os.Stat(filepath.Join(dir, need)); err != nil {
			if _, flat := os.Stat(filepath.Join(dir, "final.mdl")); need == "am/final.mdl" && flat == nil {
				continue
			}
			return nil, fmt.Errorf("load Vosk model: %w; want the folder of an unpacked model", err)
		}
	}
	m := &Model{l: l, handle: l.modelNew(dir)}
	if m.handle == 0 {
		return nil, fmt.Errorf("load Vosk model %s: the library refused it", dir)
	}
	return m, nil
}

// Close releases the model. Its streams must be closed before.
func (m *Model) Close() {
	if m.handle != 0 {
		m.l.modelFree(m.handle)
		m.handle = 0
	}
}

// Stream is one utterance.
type Stream struct {
	m      *Model
	mu     sync.Mutex
	handle uintptr
	said   []string
	scaled []float32
}

// Open begins an utterance of samples at rate.
func (m *Model) Open(rate int) (*Stream, error) {
	s := &Stream{m: m, handle: m.l.recognizerNew(m.handle, float32(rate))}
	if s.handle == 0 {
		return nil, fmt.Errorf("begin to recognise at %d samples a second: the library refused", rate)
	}
	return s, nil
}

// Feed takes samples in [-1, 1].
func (s *Stream) Feed(pcm []float32) error {
	const most = 1 << 16
	for len(pcm) > 0 {
		n := min(len(pcm), most)
		s.scaled = s.scaled[:0]
		for _, v := range pcm[:n] { // the library counts in 16-bit steps
			s.scaled = append(s.scaled, v*32768)
		}
		pcm = pcm[n:]
		switch s.m.l.accept(s.handle, &s.scaled[0], int32(n)) {
		case 0:
		case 1:
			s.keep(s.m.l.result(s.handle))
		default:
			return fmt.Errorf("recognise: the library failed on %d samples", n)
		}
	}
	return nil
}

// keep adds what the library has finished with.
func (s *Stream) keep(answer string) {
	if t := clean(field(answer, "text")); t != "" {
		s.said = append(s.said, t)
	}
}

// Partial is the text so far.
func (s *Stream) Partial() string {
	parts := append([]string{}, s.said...)
	if t := clean(field(s.m.l.partial(s.handle), "partial")); t != "" {
		parts = append(parts, t)
	}
	return strings.Join(parts, " ")
}

// Finish is the text, after the last Feed.
func (s *Stream) Finish() string {
	s.keep(s.m.l.final(s.handle))
	return strings.Join(s.said, " ")
}

// Close releases the utterance; closing twice does nothing.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != 0 {
		s.m.l.recognizerFree(s.handle)
		s.handle = 0
	}
}

// field reads one string of the library's answer; "" where it is not there.
func field(answer, name string) string {
	var all map[string]json.RawMessage
	var text string
	if json.Unmarshal([]byte(answer), &all) == nil {
		_ = json.Unmarshal(all[name], &text) // a missing field is an empty text
	}
	return text
}

// clean takes off the brackets that some models write around numbers, and the marks of
// sounds that are no words.
func clean(text string) string {
	var words []string
	for _, w := range strings.Fields(text) {
		w = strings.Trim(w, "[]")
		if w != "" && !strings.EqualFold(w, "unk") && !strings.HasPrefix(w, "<") {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
