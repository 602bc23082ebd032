package schema

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dure/inference/schema/grammar"
)

// drawer draws schemas of all that is understood, each with a document that fulfils
// it and is written as the package writes.
type drawer struct {
	t    *rapid.T
	defs []string // schemas of $defs d0, d1, ..
	docs []string // and a document of each
}

func (d *drawer) n(low, high int) int { return rapid.IntRange(low, high).Draw(d.t, "n") }

func pick[T any](d *drawer, from ...T) T { return rapid.SampledFrom(from).Draw(d.t, "pick") }

// join makes keywords to a schema.
func join(keywords ...string) string {
	var out []string
	for _, k := range keywords {
		if k != "" {
			out = append(out, k)
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

// schema draws one with a document.
func (d *drawer) schema(depth int) (schema, doc string) {
	kinds := 13
	if depth == 0 {
		kinds = 6
	}
	switch d.n(0, kinds) {
	case 0:
		return pick(d, "true", "{}", `{"title":"x"}`), pick(d, `null`, `[1,{"a":"b"}]`, `"\u00e9"`)
	case 1:
		return pick(d, `{"type":"boolean"}`, `{"enum":[null,true,"x",1.50]}`, `{"const":true}`), "true"
	case 2:
		return d.text()
	case 3:
		return d.text()
	case 4, 5:
		return d.number()
	case 6:
		if len(d.defs) == 0 {
			return `{"type":"null"}`, "null"
		}
		i := d.n(0, len(d.defs)-1)
		return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i), d.docs[i]
	case 7, 8:
		return d.array(depth)
	case 9, 10, 11:
		return d.object(depth)
	case 12:
		return d.anyOf(depth)
	}
	return d.oneOf(depth)
}

func (d *drawer) text() (schema, doc string) {
	switch d.n(0, 3) {
	case 0:
		p := pick(d, [2]string{`^[a-z]{2,4}$`, `abc`}, [2]string{`\\d`, `a1\\é`}, [2]string{`^(foo|ba[rz])+`, `barfoo"`}, [2]string{`^[^\\s]*$`, `x\"y`},
			[2]string{`^\\w+@\\w+\\.com$`, `a@b.com`}, [2]string{`^.{3}$`, `日本語`}, [2]string{``, `x`})
		doc = p[1]
		return join(`"type":"string"`, `"pattern":"`+p[0]+`"`, pick(d, "", `"minLength":1`, `"maxLength":40`)), quote(unquote(doc))
	case 1:
		f := pick(d, [2]string{"date", "2024-02-29"}, [2]string{"time", "10:00:00Z"}, [2]string{"date-time", "1999-01-01T00:00:00.5+01:00"},
			[2]string{"uuid", "123e4567-e89b-12d3-a456-426614174000"}, [2]string{"email", "a@b.co"}, [2]string{"ipv4", "1.2.3.4"}, [2]string{"ipv6", "::1"},
			[2]string{"uri", "http://a.b/c?d#e"}, [2]string{"uri-reference", "a/b"}, [2]string{"hostname", "a-b.c"}, [2]string{"duration", "P1DT2H"},
			[2]string{"json-pointer", "/a/0"}, [2]string{"relative-json-pointer", "1/a"}, [2]string{"uri-template", "/a/{b}"}, [2]string{"iri", "a:b"}, [2]string{"idn-email", "a@b.co"})
		return join(`"type":"string"`, `"format":"`+f[0]+`"`), quote(f[1])
	case 2:
		return `{"enum":["a","b","é\"",""]}`, pick(d, `"a"`, `"é\""`, `""`)
	}
	low := d.n(0, 3)
	high := low + d.n(0, 30)
	s := strings.Repeat(pick(d, "a", "é", "😀", `"`, "\n", "\x01"), d.n(low, high))
	return join(pick(d, `"type":"string"`, ""), fmt.Sprintf(`"minLength":%d,"maxLength":%d`, low, high)), quote(s)
}

func unquote(s string) string { return strings.ReplaceAll(s, `\\`, `\`) }

func (d *drawer) number() (schema, doc string) {
	if d.n(0, 3) == 0 {
		return pick(d, `{"type":"integer"}`, `{"type":"number"}`, `{"type":["number","null"]}`), pick(d, "0", "-12", "123456789")
	}
	// In hundredths, to have fractions.
	low := d.n(-2000, 2000)
	high := low + d.n(0, 3000)
	x := d.n(low, high)
	kind := `"type":"number"`
	scale := func(n int) string { return strconv.FormatFloat(float64(n)/100, 'f', -1, 64) }
	if d.n(0, 1) == 0 {
		kind, scale = `"type":"integer"`, func(n int) string { return fmt.Sprint(n) }
	}
	step := ""
	if d.n(0, 2) == 0 {
		m := d.n(1, 12)
		if pick(d, true, false) {
			m *= 10
		}
		low, x, high = low/m*m-m, low/m*m, low/m*m+high-low
		step = `"multipleOf":` + scale(m)
		if scale(m) == "0" {
			step = ""
		}
	}
	doc = scale(x)
	if doc == "-0" {
		doc = "0"
	}
	lowKey, highKey := `"minimum":`, `"maximum":`
	if low < x && d.n(0, 1) == 0 {
		lowKey = `"exclusiveMinimum":`
	}
	if high > x && d.n(0, 1) == 0 {
		highKey = `"exclusiveMaximum":`
	}
	return join(kind, pick(d, lowKey+scale(low), ""), pick(d, highKey+scale(high), ""), step), doc
}

func (d *drawer) array(depth int) (schema, doc string) {
	var prefix, items []string
	for range d.n(0, 3) {
		s, x := d.schema(depth - 1)
		prefix, items = append(prefix, s), append(items, x)
	}
	items = items[:d.n(0, len(items))]
	rest := "false"
	n := len(items)
	if d.n(0, 3) > 0 {
		var x string
		rest, x = d.schema(depth - 1)
		for n == len(prefix) && len(items) < n+3 && d.n(0, 2) > 0 {
			items = append(items, x)
		}
	}
	if len(prefix) > 0 {
		schema = `"prefixItems":[` + strings.Join(prefix, ",") + "]"
	}
	if len(prefix) == 0 || rest != "false" || d.n(0, 1) == 0 {
		schema = strings.TrimPrefix(schema+`,"items":`+rest, ",")
	}
	return join(`"type":"array"`, schema, pick(d, "", fmt.Sprintf(`"minItems":%d`, d.n(0, len(items)))),
		pick(d, "", fmt.Sprintf(`"maxItems":%d`, len(items)+d.n(0, 3)))), "[" + strings.Join(items, pick(d, ",", ", ")) + "]"
}

var someNames = []string{"a", "b", "ab", "n_1", "n_x", "é", "long name", `q"`}

func (d *drawer) object(depth int) (schema, doc string) {
	names := rapid.Permutation(someNames).Draw(d.t, "names")[:d.n(0, 5)]
	var properties, required, members []string
	for _, name := range names {
		s, x := d.schema(depth - 1)
		properties = append(properties, quote(name)+":"+s)
		if must := d.n(0, 1) == 0; must || d.n(0, 1) == 0 {
			members = append(members, quote(name)+":"+pick(d, "", " ")+x)
			if must {
				required = append(required, quote(name))
			}
		}
	}
	keywords := []string{`"type":"object"`}
	if len(names) > 0 {
		keywords = append(keywords, `"properties":{`+strings.Join(properties, ",")+"}")
	}
	if len(required) > 0 {
		keywords = append(keywords, `"required":[`+strings.Join(required, ",")+"]")
	}
	// Of members that are not named, one counts.
	most := len(members) + 1
	switch d.n(0, 6) {
	case 0:
		keywords = append(keywords, `"additionalProperties":false`)
	case 1:
		s, x := d.schema(depth - 1)
		keywords = append(keywords, `"additionalProperties":`+s)
		members = append(members, `"other":`+x, `"abc":`+x)
	case 2:
		s, x := d.schema(depth - 1)
		keywords = append(keywords, `"patternProperties":{"^p_":`+s+`},"additionalProperties":false`)
		members = append(members, `"p_1":`+x)
	case 3:
		s, x := d.schema(depth - 1)
		keywords = append(keywords, `"unevaluatedProperties":`+s)
		members = append(members, `"zz":`+x)
	case 4:
		keywords = append(keywords, `"propertyNames":{"maxLength":`+fmt.Sprint(9+d.n(0, 5))+"}")
	}
	if n := len(members); d.n(0, 3) == 0 {
		keywords = append(keywords, fmt.Sprintf(`"minProperties":%d`, d.n(0, min(n, most))))
	} else if d.n(0, 3) == 0 {
		keywords = append(keywords, fmt.Sprintf(`"maxProperties":%d`, n+d.n(0, 2)))
	}
	return join(keywords...), "{" + strings.Join(members, pick(d, ",", ", ", ",\n  ")) + "}"
}

func (d *drawer) anyOf(depth int) (schema, doc string) {
	var branches, docs []string
	for range d.n(1, 3) {
		s, x := d.schema(depth - 1)
		branches, docs = append(branches, s), append(docs, x)
	}
	if d.n(0, 2) == 0 {
		return `{"allOf":[` + branches[0] + `,true,{"anyOf":[` + branches[0] + `,{"type":"null"}]}]}`, docs[0]
	}
	return `{"anyOf":[` + strings.Join(branches, ",") + "]}", pick(d, docs...)
}

// oneOf draws objects that are told apart by a member, or types that are.
func (d *drawer) oneOf(depth int) (schema, doc string) {
	s, x := d.schema(depth - 1)
	u, y := d.schema(depth - 1)
	branch := func(kind, s string) string {
		return fmt.Sprintf(`{"type":"object","properties":{"kind":{"const":%q},"v":%s},"required":["kind","v"]}`, kind, s)
	}
	object := func(kind, x string) string { return fmt.Sprintf(`{"kind":%q,"v":%s}`, kind, x) }
	return `{"oneOf":[` + branch("s", s) + "," + branch("u", u) + `,{"type":"null"}]}`, pick(d, object("s", x), object("u", y), "null")
}

// document draws a whole schema, with definitions, and a document.
func (d *drawer) document() (schema, doc string) {
	for range d.n(0, 2) {
		// Definitions may refer to themselves, where a document can end.
		d.defs, d.docs = append(d.defs, ""), append(d.docs, "null")
		i := len(d.defs) - 1
		s, x := d.schema(2)
		d.defs[i] = `{"anyOf":[{"type":"null"},` + s + "]}"
		d.docs[i] = pick(d, x, "null")
	}
	s, x := d.schema(3)
	var defs []string
	for i, def := range d.defs {
		defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, def))
	}
	return `{"allOf":[` + s + `],"$defs":{` + strings.Join(defs, ",") + "}}", x
}

// draw makes a document of a grammar, byte by byte. Once it is long, brackets and
// quotation marks are closed as soon as they can be. It returns "" if that is not
// enough.
func draw(t *rapid.T, m *grammar.Matcher, r *rand.Rand, long int) string {
	s := m.Start()
	var out []byte
	for !s.Done() || len(out) < long && r.IntN(3) > 0 {
		next := following(s, func(byte) bool { return true })
		if flat := following(s, func(b byte) bool { return b != '{' }); len(out) > long && len(flat) > 0 {
			next = flat
		}
		if len(out) > long && r.IntN(3) > 0 {
			for _, these := range []func(byte) bool{
				func(b byte) bool { return b == '"' },
				func(b byte) bool { return b == '}' || b == ']' },
				func(b byte) bool { return b != '{' && b != '[' && b != ',' && b > ' ' && b != '\\' && b < 0x80 },
			} {
				if few := following(s, these); len(few) > 0 {
					next = few
					break
				}
			}
		}
		if len(next) == 0 {
			break
		}
		b := next[r.IntN(len(next))]
		s.Accept([]byte{b})
		if out = append(out, b); len(out) > 5000 {
			return "" // nested ever deeper by chance
		}
	}
	if !s.Done() {
		t.Fatalf("after %q nothing is allowed", out)
	}
	return string(out)
}

// following are the bytes of a kind that may come next.
func following(s grammar.State, these func(byte) bool) []byte {
	var out []byte
	for b := range 256 {
		if next := s; these(byte(b)) && next.Accept([]byte{byte(b)}) {
			out = append(out, byte(b))
		}
	}
	return out
}

// Every document of a schema's grammar is valid, and the document that was drawn with
// the schema is one of them.
func TestRandomSchemas(t *testing.T) {
	compiled, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		schema, doc := (&drawer{t: t}).document()
		valid := validator(t, schema)
		if err := valid(doc); err != nil {
			t.Fatalf("%s: the drawn document %s: %v", schema, doc, err)
		}
		all++
		var e *Error
		s, err := Compile([]byte(schema), Options{})
		if errors.As(err, &e) && e.Keyword != "" {
			return // a keyword that cannot be guaranteed here
		}
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		compiled++
		g, err := grammar.Compile(s.Grammar)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		m := grammar.NewMatcher(g, nil)
		if !allows(m, doc) {
			t.Fatalf("%s refuses %s", schema, doc)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 5 {
			out := draw(t, m, r, 300)
			if out == "" {
				continue
			}
			if err := valid(out); err != nil {
				t.Fatalf("%s writes %s: %v", schema, out, err)
			}
		}
	})
	if compiled < all/2 {
		t.Errorf("only %d of %d schemas could be compiled", compiled, all)
	}
	t.Logf("%d of %d schemas compiled", compiled, all)
}

// part draws an object schema of few names, so that several have much in common.
func (d *drawer) part() string {
	name := func() string { return quote(pick(d, "a", "b", "p_1", "p_x")) }
	value := func() string {
		return pick(d, `{"type":"integer"}`, `{"minimum":3}`, `{"maximum":5}`, `{"const":"x"}`, `{"enum":["x","y",4]}`, `{"type":["string","null"]}`,
			`{"pattern":"^[x-z]+$"}`, `{"maxLength":2}`, `{}`, `false`, `{"properties":{"a":{"type":"integer"}}}`, `{"required":["a"]}`,
			`{"items":{"type":"integer"}}`, `{"prefixItems":[{"minimum":1}],"maxItems":2}`, `{"type":"array","minItems":1}`, `{"$ref":"#"}`, `{"not":{"type":"null"}}`)
	}
	var keywords []string
	if d.n(0, 3) > 0 {
		keywords = append(keywords, fmt.Sprintf(`"properties":{"a":%s,%q:%s}`, value(), pick(d, "b", "p_1", "c"), value()))
	}
	if d.n(0, 2) == 0 {
		keywords = append(keywords, `"required":[`+name()+`]`)
	}
	if d.n(0, 3) == 0 {
		keywords = append(keywords, fmt.Sprintf(`"patternProperties":{%q:%s}`, pick(d, "^p_", "1$", "."), value()))
	}
	if d.n(0, 3) == 0 {
		keywords = append(keywords, `"additionalProperties":`+value())
	}
	if d.n(0, 3) == 0 {
		keywords = append(keywords, `"type":`+pick(d, `"object"`, `["object","array"]`))
	}
	if d.n(0, 5) == 0 {
		keywords = append(keywords, pick(d, `"unevaluatedProperties":false`, `"propertyNames":{"pattern":"[a-c1]"}`, `"minProperties":2`, `"maxProperties":2`,
			`"minItems":1`, `"items":{"maximum":9}`, `"minimum":2.5`, `"multipleOf":1.5`, `"minLength":2`))
	}
	return join(keywords...)
}

// What several schemas say together is kept by every document that is written.
func TestRandomCombinations(t *testing.T) {
	written := 0
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{t: t}
		var branches []string
		for range d.n(1, 3) {
			branches = append(branches, d.part())
		}
		schema := join(`"allOf":[`+d.part()+","+d.part()+"]", pick(d, `"anyOf":[`, `"oneOf":[`)+strings.Join(branches, ",")+"]",
			pick(d, "", "", `"not":{"type":["array","string"]}`, `"not":{"enum":["xx",null]}`), pick(d, "", `"unevaluatedProperties":false`))
		valid := validator(t, schema)
		s, err := Compile([]byte(schema), Options{})
		if err != nil {
			return // nothing fulfils it, or it cannot be guaranteed
		}
		g, err := grammar.Compile(s.Grammar)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		m := grammar.NewMatcher(g, nil)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 5 {
			out := draw(t, m, r, 200)
			if out == "" {
				continue
			}
			if err := valid(out); err != nil {
				t.Fatalf("%s writes %s: %v", schema, out, err)
			}
			written++
		}
	})
	if written == 0 {
		t.Error("no schema could be compiled")
	}
	t.Logf("%d documents", written)
}
