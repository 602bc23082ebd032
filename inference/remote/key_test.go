package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadKey(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"GOOD": secret, "EMPTY": "", "SPACED": secret + " x", "LINES": secret + "\n", "LONG": strings.Repeat("k", maxKey+1)}[name]
		return v, ok
	}
	for _, tc := range []struct{ env, file, want, says string }{
		{"GOOD", "", secret, ""},
		{"", file("good", secret+"\n", 0o600), secret, ""},
		{"", "", "", ""},
		{"GOOD", file("also", secret, 0o600), "", "name one of them"},
		{"GONE", "", "", "variable GONE is to hold"},
		{"EMPTY", "", "", "not set"},
		{"SPACED", "", "", "no white space"},
		{"LINES", "", "", "no white space"},
		{"LONG", "", "", "longer than"},
		{"", file("open", secret, 0o644), "", "chmod 600"},
		{"", file("two", secret+"\n"+secret, 0o600), "", "no white space"},
		{"", file("empty", "", 0o600), "", "it is empty"},
		{"", dir, "", "no regular file"},
		{"", filepath.Join(dir, "gone"), "", "no such file"},
	} {
		k, err := ReadKey(env, tc.env, tc.file)
		if k.text() != tc.want || (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%q %q: %q, %v", tc.env, tc.file, k.text(), err)
		}
	}
}

// However a key, or what holds one, is printed, it is not shown.
func TestKeyShowsNothing(t *testing.T) {
	e := Endpoint{Base: "http://a/v1", Key: NewKey(secret)}
	m := OpenAI(e, http.DefaultClient)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "key", e.Key, "endpoint", e, "model", m)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "key", e.Key, "endpoint", e, "model", m)
	encoded, err := json.Marshal(map[string]any{"key": e.Key, "endpoint": e})
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{logged.String(), string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{e.Key, &e.Key, e, &e, m, *m, []Key{e.Key}} {
			shown = append(shown, fmt.Sprintf(verb, v))
		}
	}
	for _, s := range shown {
		if strings.Contains(s, secret) || strings.Contains(s, fmt.Sprintf("%x", secret)) {
			t.Errorf("shown: %s", s)
		}
	}
	if !strings.Contains(string(encoded), `"[key]"`) {
		t.Errorf("%s", encoded)
	}
}
