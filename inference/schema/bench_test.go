package schema

import (
	"fmt"
	"strings"
	"testing"

	"dure/inference/schema/grammar"
)

// large is a schema of n properties of all kinds; some are optional.
func large(n int) string {
	kinds := []string{
		`{"type":"string","description":"some words about it"}`, `{"type":"integer","minimum":0,"maximum":%d}`, `{"type":"number"}`, `{"type":"boolean"}`,
		`{"type":["string","null"],"maxLength":%d}`, `{"enum":["a%d","b","c"]}`, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"email"}`,
		`{"type":"array","items":{"$ref":"#/$defs/item"},"minItems":1,"maxItems":%d}`, `{"anyOf":[{"$ref":"#/$defs/item"},{"type":"null"}]}`,
		`{"type":"string","pattern":"^[A-Z]{2}-%d\\d{4}$"}`, `{"type":"object","additionalProperties":{"type":"integer"}}`,
	}
	var properties, required []string
	for i := range n {
		kind := kinds[i%len(kinds)]
		if strings.Contains(kind, "%d") {
			kind = fmt.Sprintf(kind, i+1)
		}
		properties = append(properties, fmt.Sprintf(`"some_property_%d":%s`, i, kind))
		if i%3 != 0 {
			required = append(required, fmt.Sprintf(`"some_property_%d"`, i))
		}
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") +
		`],"additionalProperties":false,"$defs":{"item":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/item"}}},"required":["name"]}}}`
}

// BenchmarkCompile is from the text of a schema to a grammar that can be followed.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 20, 200, 1000} {
		raw := []byte(large(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s, err := Compile(raw, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := grammar.Compile(s.Grammar); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
