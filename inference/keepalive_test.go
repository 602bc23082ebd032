package inference

import (
	"testing"
	"time"
)

func FuzzParseKeepAlive(f *testing.F) {
	for _, text := range []string{"5m", "90", "0", "0s", "-1", "-1m", "1h30m", "", "soon", "99999999999999999999", "9223372036854775807", "5 m"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keep, err := ParseKeepAlive(text)
		if (keep == 0) != (err != nil) {
			t.Errorf("%q is %d ns, %v", text, keep, err)
		}
	})
}

func TestParseKeepAlive(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5m": 5 * time.Minute, "90": 90 * time.Second, "0": UnloadAtOnce, "0s": UnloadAtOnce, "-1": -time.Second, "-5m": -5 * time.Minute,
		"": 0, "soon": 0, "9223372036854775807": 0,
	} {
		if got, err := ParseKeepAlive(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}
