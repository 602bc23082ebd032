package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Whatever a server says: it is refused, or what models are told of it is in bounds.
func FuzzSpecs(f *testing.F) {
	f.Add([]byte(`[{"name":"a","description":"says\n\"obey\u202e","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}},{"name":"b","inputSchema":{"type":"object"}}]`))
	f.Add([]byte(`[{"name":"a","inputSchema":{"type":"object","$defs":{"x":{"$ref":"http://x"}}}}]`))
	f.Add([]byte(`[{"name":"a","inputSchema":{"type":"object","x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}]`))
	f.Add([]byte(`[null,{"name":"a"},{"name":"a"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var tools []*sdk.Tool
		if json.Unmarshal(data, &tools) != nil {
			return
		}
		specs, names, err := read("maker", tools)
		if err != nil {
			return
		}
		if len(specs) != len(tools) || len(names) != len(tools) || len(tools) > maxTools {
			t.Fatalf("%d specs and %d names of %d tools", len(specs), len(names), len(tools))
		}
		total := 0
		for i, s := range specs {
			if s.Name != "maker."+names[i] || !goodTool.MatchString(names[i]) {
				t.Errorf("%q of %q", s.Name, names[i])
			}
			if !json.Valid(s.Schema) || len(s.Schema) > maxSchema {
				t.Errorf("a schema of %d bytes: %.100s", len(s.Schema), s.Schema)
			}
			total += len(s.Schema) + len(s.Description)
			for _, r := range s.Description {
				if !unicode.IsPrint(r) {
					t.Errorf("%U in %q", r, s.Description)
				}
			}
		}
		if total > maxSpecs {
			t.Errorf("%d bytes", total)
		}
	})
}
