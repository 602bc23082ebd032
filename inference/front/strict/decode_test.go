package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dure/inference"

	"pgregory.net/rapid"
)

// all has a field of every kind.
type all struct {
	text    string
	flag    bool
	count   int64
	label   string
	word    string
	stops   []string
	ids     []int32
	ratio   float32
	above   float32
	raw     json.RawMessage
	nested  []string
	present map[string]bool
}

var words = []string{"one", "two", "three"}

var allFields = Fields[all]{
	"text":  Text(func(a *all, s string) { a.text = s }),
	"flag":  Boolean(func(a *all, b bool) { a.flag = b }),
	"count": Integer(-5, 5, func(a *all, i int64) { a.count = i }),
	"label": func(d *Decoder, a *all, v Value) (err error) { a.label, err = d.Label(v); return err },
	"word":  func(d *Decoder, a *all, v Value) (err error) { a.word, err = d.OneOf(v, words); return err },
	"stops": func(d *Decoder, a *all, v Value) (err error) { a.stops, err = d.Texts(v, 3, 4); return err },
	"ids":   func(d *Decoder, a *all, v Value) (err error) { a.ids, err = d.TokenIDs(v); return err },
	"ratio": func(d *Decoder, a *all, v Value) (err error) { a.ratio, err = d.Number(v, 0, 1); return err },
	"above": func(d *Decoder, a *all, v Value) (err error) { a.above, err = d.Positive(v, 1); return err },
	"raw":   func(d *Decoder, a *all, v Value) (err error) { a.raw, err = d.Raw(v); return err },
	"off":   Only[all]("false", IsFalse),
	"none":  Only[all]("[]", (*Decoder).IsEmpty),
	"other": Instead[all]("word", IsText("")),
	"list": func(d *Decoder, a *all, v Value) error {
		return d.List(v, func(v Value) error {
			return d.Object(v, 2, func(name string, v Value) error {
				switch name {
				case "name":
					s, err := d.Text(v)
					a.nested = append(a.nested, s)
					return err
				case "whole":
					return d.Up().Unsupported("not here")
				}
				return d.Unknown(v)
			})
		})
	},
}

func decodeAll(body string) (all, []string, error) {
	var a all
	warnings, err := Decode([]byte(body), allFields, &a, func(d *Decoder, a *all) error {
		a.present = d.Present()
		if a.flag && a.text == "" {
			return d.Missing("text")
		}
		return nil
	})
	return a, warnings, err
}

var refused = []struct {
	body, param, message string
}{
	{``, "", "empty"},
	{`{"text":"a"`, "", "offset"},
	{"{\"text\":\"\xff\"}", "", "line 1, column 10 (offset 9)"},
	{`[]`, "", "the body: expected an object, got a list"},
	{`{"text":1}`, "text", "expected a string, got a number"},
	{`{"text":"\u0000"}`, "text", "NUL"},
	{`{"text":"\ud800"}`, "text", "surrogate"},
	{`{"text":"a","text":"b"}`, "text", "twice"},
	{`{"flag":1}`, "flag", "true or false"},
	{`{"flag":true}`, "text", "is required"},
	{`{"count":6}`, "count", "between -5 and 5"},
	{`{"count":1.0}`, "count", "expected an integer"},
	{`{"label":""}`, "label", "1 to 256 bytes"},
	{`{"label":"a\nb"}`, "label", "control"},
	{`{"word":"thre"}`, "word", `did you mean "three"`},
	{`{"stops":["a","bcdef"]}`, "stops[1]", "not 5"},
	{`{"stops":["a","b","c","d"]}`, "stops[3]", "at most 3"},
	{`{"ids":[1,-1]}`, "ids[1]", "between 0"},
	{`{"ratio":1.5}`, "ratio", "between 0 and 1"},
	{`{"above":0}`, "above", "above 0"},
	{`{"off":true}`, "off", "set it to false"},
	{`{"none":[1]}`, "none", "set it to []"},
	{`{"other":"x"}`, "other", "send word"},
	{`{"list":[{"name":"a"},{"name":5}]}`, "list[1].name", "expected a string"},
	{`{"list":[{"name":"a","b":1,"c":2}]}`, "list[0]", "at most 2 members"},
	{`{"list":[{"whole":1}]}`, "list[0]", "not here"},
	{`{"raw":` + strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1) + `}`, "raw", "deeper than 64"},
}

func TestRefuses(t *testing.T) {
	for _, tt := range refused {
		_, _, err := decodeAll(tt.body)
		var e *inference.Error
		if !errors.As(err, &e) || e.Param != tt.param || !strings.Contains(e.Message, tt.message) {
			t.Errorf("%.60s: %v", tt.body, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	a, warnings, err := decodeAll(`{"foo":{"a":[1]},"list":[{"name":"n","bar":null}],"text":null,"raw": {"b": [1, "]"]} ,"none":{},"other":""}`)
	if fmt.Sprint(warnings) != "[foo: unknown field, ignored list[0].bar: unknown field, ignored]" || err != nil {
		t.Errorf("%q, %v", warnings, err)
	}
	if string(a.raw) != `{"b": [1, "]"]}` || len(a.nested) != 1 || a.present["text"] || !a.present["raw"] {
		t.Errorf("%+v", a)
	}
}

// Whatever a body is, it becomes a typed refusal that can be shown, or values
// within their limits.
func FuzzDecode(f *testing.F) {
	for _, tt := range refused {
		f.Add(tt.body)
	}
	f.Add(`{"text":"é\ud83d\ude00","flag":false,"count":-5,"word":"two","stops":"a","ids":[0],"ratio":-0,"above":1e-3,"list":[{}],"raw":-1.5e3}`)
	f.Fuzz(func(t *testing.T, body string) {
		a, warnings, err := decodeAll(body)
		if err != nil {
			var e *inference.Error
			if !errors.As(err, &e) || e.Code != inference.CodeInvalidRequest && e.Code != inference.CodeUnsupported ||
				e.Message == "" || len(e.Message) > 2000 || !utf8.ValidString(e.Message+e.Param) {
				t.Fatalf("%#v", err)
			}
			return
		}
		if !json.Valid([]byte(body)) || !utf8.ValidString(body) || len(warnings) > MaxWarnings+1 {
			t.Fatalf("accepted, %d warnings", len(warnings))
		}
		if strings.ContainsRune(a.text, 0) || a.count < -5 || a.count > 5 || a.ratio < 0 || a.ratio > 1 || a.above < 0 || a.above > 1 ||
			len(a.label) > MaxLabel || len(a.stops) > 3 || a.raw != nil && !json.Valid(a.raw) {
			t.Fatalf("%+v", a)
		}
	})
}

// A value that is kept as it stands means what it meant in the body.
func TestRawProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0:
				return rapid.String().Draw(t, "string")
			case kind == 1:
				return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
			case kind == 2:
				return rapid.Bool().Draw(t, "bool")
			case depth == 0:
				return nil
			case kind == 3:
				return map[string]any{rapid.String().Draw(t, "name"): value(depth - 1), "x": value(depth - 1)}
			default:
				return []any{value(depth - 1), value(depth - 1)}
			}
		}
		want, err := json.Marshal(value(4))
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf("{\"raw\":%s, \"count\" : 3}", want)
		if rapid.Bool().Draw(t, "spaces") {
			var buf bytes.Buffer
			json.Indent(&buf, []byte(body), " ", "\t")
			body = buf.String()
		}
		a, _, err := decodeAll(body)
		if err != nil || a.count != 3 {
			t.Fatalf("%v: %s", err, body)
		}
		var got bytes.Buffer
		if string(want) == "null" {
			return // absent
		}
		if json.Compact(&got, a.raw) != nil || got.String() != string(want) {
			t.Fatalf("got %s want %s", a.raw, want)
		}
	})
}

// A text from outside a body is read as a body would be, where it can be.
func TestLoose(t *testing.T) {
	for _, tt := range []struct {
		text   string
		quoted bool
		kind   Kind
		ok     bool
	}{
		{"5", false, KindNumber, true}, {"5", true, KindString, true}, {"5s", false, KindString, true}, {"true", false, KindTrue, true},
		{"[1]", false, KindList, true}, {"", false, KindString, true}, {"\xff", true, KindString, false}, {`"a`, true, KindString, true},
	} {
		if v, ok := Loose(tt.text, tt.quoted); v.Kind != tt.kind || ok != tt.ok {
			t.Errorf("%q: %s, %t", tt.text, v.Kind, ok)
		}
	}
}
