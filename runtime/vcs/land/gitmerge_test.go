package land

import (
	"bufio"
	"strings"
	"testing"
)

func FuzzGitAnswer(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add("1\x00" + id + "\x00\x00\x00")
	f.Add("0\x00" + id + "\x00100644 " + id + " 1\tf\x00100644 " + id + " 3\tf\x00\x001\x00f\x00CONFLICT (contents)\x00text\n\x00\x00")
	f.Add("2\x00")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := readAnswer(bufio.NewReader(strings.NewReader(s)))
		if err == nil && a.tree.String() == "" {
			t.Error("no tree")
		}
	})
}

func TestGitAnswer(t *testing.T) {
	id := strings.Repeat("ab", 20)
	a, err := readAnswer(bufio.NewReader(strings.NewReader("0\x00" + id + "\x00100644 " + id + " 1\td/f\x00120000 " + id +
		" 3\td/f\x00\x002\x00d/f\x00e/f\x00CONFLICT (modify/delete)\x00text\n\x001\x00d/f\x00Auto-merging\x00text\x00\x00")))
	if err != nil {
		t.Fatal(err)
	}
	if a.clean || a.tree.String() != id || len(a.files) != 1 || a.files[0].path != "d/f" || a.files[0].base.Name != "f" ||
		a.files[0].ours.Mode != 0 || a.why["e/f"] != "CONFLICT (modify/delete)" || a.why["d/f"] != "CONFLICT (modify/delete)" {
		t.Errorf("read %+v", a)
	}
	for _, bad := range []string{"", "1", "1\x00", "3\x00" + id + "\x00\x00\x00", "1\x00xyz\x00\x00\x00", "0\x00" + id + "\x00nonsense\x00\x00\x00", "1\x00" + id + "\x00\x00-1\x00\x00", "1\x00" + id + "\x00\x005\x00a\x00\x00"} {
		if _, err := readAnswer(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
