package arbiter

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFramesComeAsTheyWent(t *testing.T) {
	var sent bytes.Buffer
	frames := []frame{
		{frameAsk, byte(Voice), 1, 100e6}, {frameAsk, byte(Prompt), 2, 0}, {frameDone, byte(Decode), 1 << 60, int64(maxDuration)},
		{frameShare, 0, 0, 40e6}, {frameShare, 0, 0, 0}, {frameGrant, 1, 7, 0}, {frameGrant, 0, 8, 0}, {frameRecall, 0, 7, 0},
	}
	for _, f := range frames {
		b := f.encode()
		sent.Write(b[:])
	}
	r := iotest.OneByteReader(&sent)
	for _, want := range frames {
		if got, err := readFrame(r); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	if _, err := readFrame(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if _, err := readFrame(strings.NewReader("half")); err == nil || err == io.EOF {
		t.Errorf("half a frame: %v", err)
	}
}

func TestFramesThatMakeNoSense(t *testing.T) {
	for name, f := range map[string]frame{
		"kind 0": {0, 0, 1, 0}, "kind 6": {6, 0, 1, 0},
		"class": {frameAsk, classes, 1, 0}, "keep 2": {frameGrant, 2, 1, 0}, "flag": {frameShare, 1, 0, 0},
		"no serial": {frameAsk, 0, 0, 0}, "a serial": {frameShare, 0, 1, 0},
		"negative": {frameDone, 0, 1, -1}, "too long": {frameDone, 0, 1, int64(maxDuration) + 1}, "a duration": {frameRecall, 0, 1, 1},
	} {
		if _, err := decodeFrame(f.encode()); err == nil {
			t.Errorf("%s: %+v is taken", name, f)
		}
	}
	b := frame{frameRecall, 0, 1, 0}.encode()
	b[5] = 1
	if _, err := decodeFrame(b); err == nil {
		t.Error("what should be zero is not, and it is taken")
	}
}

// Whatever bytes come, a frame that is taken is one that would be sent, byte for byte.
func FuzzFrame(f *testing.F) {
	for _, m := range []frame{{frameAsk, 2, 9, 1}, {frameDone, 1, 9, 0}, {frameShare, 0, 0, 40e6}, {frameGrant, 1, 9, 0}, {frameRecall, 0, 9, 0}} {
		b := m.encode()
		f.Add(b[:])
		f.Add(append(b[:], b[:5]...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for at := 0; ; at += frameSize {
			m, err := readFrame(r)
			if err != nil {
				if err == io.EOF && at != len(data) {
					t.Fatalf("%d bytes end in order after %d", len(data), at)
				}
				return
			}
			if b := m.encode(); !bytes.Equal(b[:], data[at:at+frameSize]) {
				t.Fatalf("%x is read as %+v, which is %x", data[at:at+frameSize], m, b)
			}
		}
	})
}
