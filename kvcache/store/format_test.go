package store

import (
	"bytes"
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var updateSample = flag.Bool("update-sample", false, "write testdata/container-1.b64 anew; only when the version goes up")

const samplePath = "testdata/container-1.b64"

// A file that was written when the format got its version is read for ever, and
// today's writer still writes it so.
func TestKeptContainer(t *testing.T) {
	data := payload(24)
	today := container(t, data)
	if *updateSample {
		text := base64.StdEncoding.EncodeToString(today) + "\n"
		if err := os.WriteFile(samplePath, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(samplePath)
	if err != nil {
		t.Fatal(err)
	}
	sample, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	h, got, err := open(sample)
	if err != nil {
		t.Fatal(err)
	}
	if h.from != 4 || h.to != 9 || !bytes.Equal(got, data) {
		t.Errorf("[%d, %d), % x", h.from, h.to, got)
	}
	if !bytes.Equal(sample, today) {
		t.Error("the writer has changed and the version has not")
	}
}

// A later version's file stays, and nothing is ever written over it; its number
// is not used again.
func TestLaterVersionIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	later := container(t, payload(24))
	later[len(magic)] = version + 1
	old := container(t, payload(24))
	old[len(magic)] = 0
	for name, b := range map[string][]byte{"0000000000000001.kv": later, "0000000000000002.kv": old} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time the old one is gone, the later one still there
		cfg := testConfig(dir)
		cfg.RefusedFiles = 1
		s, found := begin(t, cfg)
		if st := s.Stats(); st.Refused[Newer] != 1 || len(found) > 1 {
			t.Errorf("refused %v, %d found", st.Refused, len(found))
		}
		if len(found) == 0 {
			write(t, s, 1, tokens(5, 1), 0, payload(100))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "0000000000000001.kv"))
		if err != nil || !bytes.Equal(got, later) {
			t.Fatalf("it was touched: %v", err)
		}
	}
	if aside := files(t, filepath.Join(dir, "refused"), ""); len(aside) != 1 {
		t.Errorf("set aside: %q", aside)
	}
}
