package kv

import (
	"fmt"
	"strings"
)

// coder writes one long source file: types with fields, functions on them that call
// earlier ones.
type coder struct {
	dice
	types []kindOf
	calls []string // functions that exist
	begun bool
}

type kindOf struct {
	name   string
	fields [][2]string // name and type
}

var (
	nouns  = strings.Fields("Order Account Session Packet Report Ticket Queue Worker Shelf Token Batch Cursor Record Window Signal Bucket Ledger Route Probe Frame")
	fields = strings.Fields("id name owner count limit total offset length state retries weight price created updated index depth score label parent version")
	verbs  = strings.Fields("Load Store Check Merge Split Drain Reset Update Append Remove Find Count Encode Decode Verify Resolve Publish Collect")
	kinds  = strings.Fields("int string int64 bool float64")
)

func newCoder(d dice) *coder { return &coder{dice: d} }

// next is a declaration.
func (c *coder) next() string {
	if !c.begun {
		c.begun = true
		return "package " + strings.ToLower(c.of(nouns)) + "\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\t\"sync\"\n)\n\n" + c.newType()
	}
	if len(c.types) < len(nouns) && c.chance(20) {
		return c.newType()
	}
	return c.function()
}

func (c *coder) newType() string {
	t := kindOf{name: c.unused()}
	for _, name := range c.some(fields, 3+c.IntN(4)) {
		t.fields = append(t.fields, [2]string{name, c.of(kinds)})
	}
	c.types = append(c.types, t)
	var b strings.Builder
	fmt.Fprintf(&b, "// %s holds the %s and %s of one %s.\ntype %s struct {\n\tmu sync.Mutex\n", t.name, t.fields[0][0], t.fields[1][0], strings.ToLower(t.name), t.name)
	for _, f := range t.fields {
		fmt.Fprintf(&b, "\t%s %s\n", f[0], f[1])
	}
	b.WriteString("}\n\n")
	fmt.Fprintf(&b, "// New%s makes an empty %s.\nfunc New%s(%s %s) *%s {\n\treturn &%s{%s: %s}\n}\n\n", t.name, strings.ToLower(t.name),
		t.name, t.fields[0][0], t.fields[0][1], t.name, t.name, t.fields[0][0], t.fields[0][0])
	return b.String()
}

func (c *coder) unused() string {
	for _, i := range c.Perm(len(nouns)) {
		taken := false
		for _, t := range c.types {
			taken = taken || t.name == nouns[i]
		}
		if !taken {
			return nouns[i]
		}
	}
	return "Last"
}

func (c *coder) function() string {
	t := c.types[c.IntN(len(c.types))]
	verb := c.of(verbs)
	f, g := t.fields[c.IntN(len(t.fields))], t.fields[c.IntN(len(t.fields))]
	short := strings.ToLower(t.name[:1])
	name := verb + title(f[0])
	var b strings.Builder
	fmt.Fprintf(&b, "// %s %ss the %s of the %s and returns an error if the %s is not set.\n", name, strings.ToLower(verb), f[0], strings.ToLower(t.name), g[0])
	fmt.Fprintf(&b, "func (%s *%s) %s(value %s) (%s, error) {\n\t%s.mu.Lock()\n\tdefer %s.mu.Unlock()\n", short, t.name, name, f[1], f[1], short, short)
	fmt.Fprintf(&b, "\tif %s.%s == %s {\n\t\treturn %s, errors.New(\"%s: %s is not set\")\n\t}\n", short, g[0], zero(g[1]), zero(f[1]), strings.ToLower(t.name), g[0])
	if len(c.calls) > 0 && c.chance(60) {
		fmt.Fprintf(&b, "\tif err := %s(%s); err != nil {\n\t\treturn %s, fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", c.of(c.calls), short, zero(f[1]), strings.ToLower(verb), f[0])
	}
	fmt.Fprintf(&b, "\told := %s.%s\n\t%s.%s = value\n\treturn old, nil\n}\n\n", short, f[0], short, f[0])
	if c.chance(40) {
		check := "check" + t.name + title(f[0])
		c.calls = append(c.calls, check)
		fmt.Fprintf(&b, "func %s(v any) error {\n\tif v == nil {\n\t\treturn errors.New(\"%s of nothing\")\n\t}\n\treturn nil\n}\n\n", check, f[0])
	}
	return b.String()
}

func zero(kind string) string {
	switch kind {
	case "string":
		return `""`
	case "bool":
		return "false"
	}
	return "0"
}
