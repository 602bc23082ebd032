package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/audio"
	"dure/audio/consent"
	"dure/audio/realtime/wire"
)

// A recording without a record is refused, in every place where one can come in; a
// revocation holds for the next who asks.
func TestVoiceConsent(t *testing.T) {
	home := t.TempDir()
	pcm := make([]float32, 4*24000)
	for i := range pcm {
		pcm[i] = float32(i%100) / 200
	}
	file := filepath.Join(home, "me.wav")
	if err := writeSound(file, audio.Rate, pcm); err != nil {
		t.Fatal(err)
	}
	wav, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ask := imitate(consents(home))
	code := func() string {
		var e *wire.Error
		if err := ask(context.Background(), wav, "en"); !errors.As(err, &e) {
			t.Fatalf("a voice is imitated: %v", err)
		}
		return e.Code
	}
	run := func(args ...string) (string, error) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, append([]string{"voice", "consent"}, args...)...)
		cmd.Env = append(os.Environ(), envBeDure+"=1", envHome+"="+home)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if got := code(); got != "voice_consent_required" {
		t.Error(got)
	}
	if out, err := run("add", file, "--basis", "own", "--purpose", "tests"); err == nil {
		t.Errorf("without a subject: %s", out)
	}
	if out, err := run("add", file, "--subject", "Ada", "--basis", "own", "--purpose", "tests", "--language", "en"); err != nil {
		t.Fatal(out)
	}
	if got := code(); got != "engine_missing" {
		t.Error(got)
	}
	out, err := run("list", "--json")
	var all []consent.Record
	if err != nil || json.Unmarshal([]byte(out), &all) != nil || len(all) != 1 || all[0].Subject != "Ada" || all[0].Seconds != 4 {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := run("revoke", all[0].SHA256[:12]); err != nil {
		t.Fatal(out)
	}
	if got := code(); got != "voice_consent_required" {
		t.Error(got)
	}
	if out, err := run("list"); err != nil || !strings.Contains(out, "revoked") {
		t.Error(out)
	}
	wav = bytes.Repeat([]byte("x"), 100)
	if got := code(); got != wire.CodeValue {
		t.Error(got)
	}
}
