package consent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/audio"
)

var clip = &audio.WAV{Rate: 24000, PCM: []float32{0, 0.5, -0.5}}

func record() Record {
	return Record{SHA256: Sum(clip), Subject: "Ada", Basis: Own, Purpose: "reading reports", EnteredBy: "ada"}
}

// Without a record nothing is allowed; with one what it says, until it is revoked or over,
// from the next look on.
func TestConsent(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := Store{Path: filepath.Join(t.TempDir(), "sub", "consent.json"), Now: func() time.Time { return now }}
	other := Store{Path: s.Path, Now: s.Now} // as another process has it
	denied := func(language, why string) {
		t.Helper()
		var m *Missing
		if err := other.Check(Sum(clip), language); !errors.As(err, &m) || !strings.Contains(m.Why, why) {
			t.Errorf("%v", err)
		}
	}
	denied("en", "no record")
	r := record()
	r.Languages, r.Expires = []string{"en", "ko"}, now.Add(time.Hour)
	if err := s.Add(r); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"en", "ko"} {
		if err := other.Check(r.SHA256, language); err != nil {
			t.Error(err)
		}
	}
	denied("de", "is for en, ko")
	denied("", "is for en, ko")
	if err := other.Check(Sum(&audio.WAV{Rate: 16000, PCM: clip.PCM}), "en"); err == nil {
		t.Error("another recording is allowed")
	}
	now = now.Add(time.Hour)
	denied("en", "expired")
	if err := s.Add(record()); err != nil {
		t.Fatal(err)
	}
	if err := other.Check(r.SHA256, "de"); err != nil {
		t.Error(err)
	}
	if n, err := s.Revoke(r.SHA256[:8]); n != 2 || err != nil {
		t.Error(n, err)
	}
	denied("de", "revoked")
	if n, err := s.Revoke(r.SHA256); n != 0 || err != nil {
		t.Error(n, err)
	}
	all, err := other.List()
	if err != nil || len(all) != 2 || all[1].Revoked != now {
		t.Errorf("%+v %v", all, err)
	}
	if info, err := os.Stat(s.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestConsentRefuses(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "consent.json")}
	for name, spoil := range map[string]func(*Record){
		"sum": func(r *Record) { r.SHA256 = "12" }, "subject": func(r *Record) { r.Subject = " " }, "purpose": func(r *Record) { r.Purpose = "" },
		"basis": func(r *Record) { r.Basis = "because" }, "evidence": func(r *Record) { r.Basis = Licence }, "past": func(r *Record) { r.Expires = time.Unix(1, 0) },
	} {
		r := record()
		spoil(&r)
		if err := s.Add(r); err == nil {
			t.Errorf("%s: added", name)
		}
	}
	if _, err := s.Revoke("12"); err == nil {
		t.Error("revoked something")
	}
	if _, err := s.Revoke(Sum(clip)); err == nil {
		t.Error("revoked what there is not")
	}
	// What cannot be read allows nothing, and is not written over.
	if err := os.WriteFile(s.Path, []byte(`[{"sha256":"x"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(Sum(clip), ""); err == nil {
		t.Error("allowed")
	}
	if err := s.Add(record()); err == nil {
		t.Error("written over")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"sha256":"","subject":"a","basis":"own","purpose":"p","entered":"2026-11-30T00:00:00Z"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := decode(data)
		for _, r := range all {
			if err == nil && r.check() != nil {
				t.Error("a bad record is read")
			}
		}
	})
}
