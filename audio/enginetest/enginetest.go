// Package enginetest finds the installed speech engines for tests, makes spoken fixtures
// with them and counts word errors. Only tests import it.
//
// What is missing fails the test and names the fix: a suite that skipped because nothing
// was installed would prove nothing. Only what a set outside of the default ones brings
// is skipped, and says so.
package enginetest

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"dure/audio/onnx"
	"dure/audio/speech"
)

// Sentences are ten that voices and recognisers are tested with.
var Sentences = []string{
	"The quick brown fox jumps over the lazy dog.",
	"Please open the second file and read the first line.",
	"I would like to know how the tests are going today.",
	"A new meeting was planned for Monday morning.",
	"Stop the current task and start again from the beginning.",
	"The weather in Paris is cold and rainy this week.",
	"Can you explain why the build failed last night?",
	"She bought apples, oranges and a bottle of milk.",
	"My friend has finished the proof and is writing the report.",
	"Remember to call your mother before you go to bed.",
}

// Home is DURE_HOME, or where it is by itself.
func Home(t testing.TB) string {
	t.Helper()
	if home := os.Getenv("DURE_HOME"); home != "" {
		return home
	}
	user, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(user, ".dure")
}

// Dir is the folder of a set of speech engines; a missing one fails the test.
func Dir(t testing.TB, set string) string {
	t.Helper()
	dir := filepath.Join(Home(t), "voice", set)
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil {
		if set != "base" && set != "english" {
			t.Skipf("SKIPPED: the speech engines %s are not installed: %v; `dure voice install %s` fetches them", set, err, set)
		}
		t.Fatalf("the speech engines are not installed: %v; run `make voice`, which installs them", err)
	}
	return dir
}

// runtime is the test program's only one.
var runtime struct {
	once sync.Once
	lib  *onnx.Library
	err  error
}

// Runtime is the ONNX Runtime.
func Runtime(t testing.TB) *onnx.Library {
	t.Helper()
	path := RuntimeFile(t)
	runtime.once.Do(func() { runtime.lib, runtime.err = onnx.Open(path) })
	if runtime.err != nil {
		t.Fatal(runtime.err)
	}
	return runtime.lib
}

// RuntimeFile is the path of the ONNX Runtime.
func RuntimeFile(t testing.TB) string { return filepath.Join(Dir(t, "base"), "libonnxruntime.so") }

// VADFile is the path of the voice detector.
func VADFile(t testing.TB) string { return filepath.Join(Dir(t, "base"), "silero.onnx") }

// Config is the default engines'.
func Config(t testing.TB) speech.Config {
	t.Helper()
	english := Dir(t, "english")
	return speech.Config{
		Runtime: RuntimeFile(t), VAD: VADFile(t), Threads: 2,
		Voices: []speech.Voice{{Name: "heart", Kind: speech.Hibari, Language: "en", Path: filepath.Join(english, "hibari")}},
		Ears:   []speech.Recogniser{{Name: "whisper-tiny.en", Kind: speech.Whisper, Language: "en", Path: filepath.Join(english, "whisper-tiny.en")}},
	}
}

// Words are a text's words, in small letters and without punctuation.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
}

// WordErrors is the least number of words to be put in, left out or changed to make heard
// of said, and the number of words said.
func WordErrors(said, heard string) (errors, words int) {
	a, b := Words(said), Words(heard)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := before
			if x != y {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)], len(a)
}
