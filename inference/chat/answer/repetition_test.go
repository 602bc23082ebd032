package answer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// repeats says it the slow way.
func repeats(tokens []int32) bool {
	for period := 1; period <= maxPeriod; period++ {
		n := minRepeats
		if n > len(tokens) {
			continue
		}
		tail := tokens[len(tokens)-n:]
		same := true
		for i := period; i < n; i++ {
			same = same && tail[i] == tail[i-period]
		}
		if same {
			return true
		}
	}
	return false
}

func TestRepetitionIsWhatItSays(t *testing.T) {
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		var tokens []int32
		for range rapid.IntRange(1, 3).Draw(rt, "parts") {
			period := rapid.SliceOfN(rapid.Int32Range(0, 3), 1, 70).Draw(rt, "period")
			for range rapid.IntRange(1, 200).Draw(rt, "times") {
				tokens = append(tokens, period...)
			}
		}
		var r Repetition
		for i, token := range tokens {
			got := r.Push(token)
			if i%7 == 0 || got {
				if want := repeats(tokens[:i+1]); got != want {
					rt.Fatalf("behind %d tokens %v, want %v", i+1, got, want)
				}
			}
			if got {
				found++
				return
			}
		}
	})
	if found == 0 {
		t.Error("nothing was found in all the loops")
	}
}

func TestRepetitionIsFoundInTime(t *testing.T) {
	for _, c := range []struct{ period, after int }{{1, minRepeats}, {2, minRepeats}, {21, minRepeats}, {64, minRepeats}} {
		var r Repetition
		for i := range 100 { // what came before does not matter
			if r.Push(int32(1000 + i)) {
				t.Fatal("found in different tokens")
			}
		}
		n := 0
		for !r.Push(int32(n % c.period)) {
			if n++; n > 2*minRepeats {
				t.Fatalf("period %d is not found", c.period)
			}
		}
		if n+1 != c.after {
			t.Errorf("period %d is found behind %d tokens, want %d", c.period, n+1, c.after)
		}
	}
	var r Repetition
	for i := range 3000 {
		if r.Push(int32(i % (maxPeriod + 1))) {
			t.Fatal("a longer period is found")
		}
	}
}

// TestRepetitionIsNotInCode reads Go's standard library, which has tables of all
// sorts, twice: a token is a byte, or a run of letters, of digits, or of one other
// character, as tokenizers cut text.
func TestRepetitionIsNotInCode(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, folder := range []string{"unicode", "strconv", "encoding/base64", "crypto/internal/fips140/aes", "go/token", "hash/crc32", "html", "math", "text/template", "compress/flate"} {
		names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if filepath.Base(name) == "huffman_bit_writer_test.go" {
				continue // one word 762 times: a loop by any measure
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files++
			var words, bytes Repetition
			if at := firstRepetition(&words, string(data)); at >= 0 {
				t.Errorf("%s: byte %d: %q", name, at, data[max(0, at-100):at])
			}
			for at, c := range data {
				if bytes.Push(int32(c)) {
					t.Errorf("%s: byte %d: %q", name, at, data[max(0, at-100):at])
					break
				}
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d files", files)
	}
}

func firstRepetition(r *Repetition, text string) int {
	ids := map[string]int32{}
	for at := 0; at < len(text); {
		end := at + 1
		for end < len(text) && end-at < 16 && class(text[end]) == class(text[at]) && (class(text[at]) < 3 || text[end] == text[at]) {
			end++
		}
		word := text[at:end]
		if ids[word] == 0 {
			ids[word] = int32(len(ids) + 1)
		}
		if r.Push(ids[word]) {
			return end
		}
		at = end
	}
	return -1
}

func class(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return 1
	case isWord(c):
		return 2
	}
	return 3
}

func TestRepetitionIsNotInTables(t *testing.T) {
	var table strings.Builder
	for i := range 200 {
		table.WriteString("| row ")
		table.WriteString(strings.Repeat("ab", i%7))
		table.WriteByte(byte('a' + i%26))
		table.WriteByte(byte('a' + i/26))
		table.WriteString(" | - | 0 |\n")
	}
	for name, text := range map[string]string{
		"rows":   table.String(),
		"ruler":  strings.Repeat("-", 200) + "\n" + strings.Repeat("=", 200),
		"matrix": strings.Repeat(strings.Repeat("0, ", 20)+"\n", 5),
	} {
		var r Repetition
		if at := firstRepetition(&r, text); at >= 0 {
			t.Errorf("%s: byte %d", name, at)
		}
	}
}

func BenchmarkRepetition(b *testing.B) {
	var r Repetition
	i := int32(0)
	for b.Loop() {
		r.Push(i % 97)
		i++
	}
}
