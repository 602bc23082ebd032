package door

import (
	"bytes"
	"math"
	"testing"

	"dure/runtime/board"
)

// Whatever comes in is refused with a reason, or is a statement of values that a
// board takes.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"sql": "select $1", "args": [1, 2.5, "a", null, true], "id": "00000000000000000000000000000001"}`))
	f.Add([]byte(`{"sql": 1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var s statement
		if err := decodeBody(bytes.NewReader(body), &s); err != nil {
			if _, ok := board.KindOf(err); !ok {
				t.Errorf("no reason: %v", err)
			}
			return
		}
		args, err := arguments(s.Args)
		if err != nil {
			return
		}
		for _, a := range args {
			if x, ok := a.(float64); ok && (math.IsInf(x, 0) || math.IsNaN(x)) {
				t.Errorf("argument %v", x)
			}
		}
	})
}

// A result comes back as it was sent.
func TestResult(t *testing.T) {
	for _, r := range []board.Result{
		{}, {Columns: []string{"a\"", "b"}, Rows: [][]any{{nil, int64(math.MinInt64)}, {"x\n\u2028", 1.0}}, Changed: 2, Change: 7},
	} {
		data, err := EncodeResult(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeResult(data)
		again, e := EncodeResult(back)
		if err != nil || e != nil || !bytes.Equal(data, again) {
			t.Errorf("%s came back as %s, %v, %v", data, again, err, e)
		}
	}
}
