package board

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Values survive JSON with their types, and no other program reads them otherwise.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(
			rapid.Map(rapid.Int64(), func(n int64) any { return n }),
			rapid.Map(rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }), func(f float64) any { return f }),
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Just[any](nil),
		).Draw(t, "value")
		if s, ok := v.(string); ok && CheckText(s) != nil {
			return
		}
		data, err := AppendValue(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		var back Value
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back.V, v) {
			t.Fatalf("%v became %s and %v, %v", v, data, back.V, err)
		}
		if s, ok := v.(string); ok {
			var plain string
			if err := json.Unmarshal(data, &plain); err != nil || plain != s {
				t.Fatalf("%q reads as %q, %v", s, plain, err)
			}
		}
	})
	for _, v := range []any{math.Inf(1), math.NaN(), "a\x00", "\xff", []byte("x"), 7, true} {
		if data, err := AppendValue(nil, v); err == nil {
			t.Errorf("%v: taken as %s", v, data)
		}
	}
	if data, _ := AppendValue(nil, math.Copysign(0, -1)); string(data) != "0.0" {
		t.Errorf("zero is %s", data)
	}
}

func FuzzAppendText(f *testing.F) {
	f.Add("a\"\\\n\u2028<>&\x01")
	f.Fuzz(func(t *testing.T, s string) {
		data, err := AppendValue(nil, s)
		if err != nil {
			if utf8.ValidString(s) && CheckText(s) == nil {
				t.Error(err)
			}
			return
		}
		var back string
		if err := json.Unmarshal(data, &back); err != nil || back != s {
			t.Errorf("%q became %s and %q, %v", s, data, back, err)
		}
	})
}

// A change is written as json.Marshal would write it, and read back.
func TestAppendChange(t *testing.T) {
	row := Row{}
	for name, v := range map[string]any{"agent": "ann", "body": "a\"\n", "n": int64(-5), "x": 0.5, "nothing": nil} {
		row[name] = Value{v}
	}
	for _, c := range []Change{{Table: "notes", Op: Insert, ID: 5, Row: row}, {Table: "t", Op: Delete, ID: -1}, {Table: "t", Op: Update, ID: 1, Row: Row{"a": {int64(1)}}}} {
		got, err := AppendChange(nil, c)
		want, e := json.Marshal(c)
		var back Change
		if err != nil || e != nil || string(got) != string(want) || json.Unmarshal(got, &back) != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%s, want %s; read as %+v; %v, %v", got, want, back, err, e)
		}
	}
}
