package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// findAnchors notes the names that $anchor gives to schemas.
func (c *compiler) findAnchors(v *value) {
	if v.kind == object {
		if a := v.get("$anchor"); a != nil && a.kind == text {
			if _, ok := c.anchors[a.text]; ok {
				c.fail(v, "$anchor", "%q names two schemas", a.text)
			}
			c.anchors[a.text] = v
		}
	}
	for _, m := range v.members {
		// What is data, not a schema, has no anchors.
		if m.name != "enum" && m.name != "const" && m.name != "default" && m.name != "examples" {
			c.findAnchors(m.value)
		}
	}
	for _, item := range v.items {
		c.findAnchors(item)
	}
}

// onlyReference returns what a schema refers to, if that is all that it says.
func (c *compiler) onlyReference(v *value) *value {
	ref := v.get("$ref")
	if ref == nil {
		return nil
	}
	for _, m := range v.members {
		if m.name != "$ref" && !annotations[m.name] {
			return nil
		}
	}
	return c.resolve(v, ref)
}

// onlyAnnotations says whether a schema says nothing about values.
func onlyAnnotations(v *value) bool {
	return !slices.ContainsFunc(v.members, func(m member) bool { return !annotations[m.name] })
}

// resolve returns the schema that a reference names, or nil and an error.
func (c *compiler) resolve(at, ref *value) *value {
	if ref.kind != text {
		c.fail(at, "$ref", "it must be a string")
		return nil
	}
	base, fragment, _ := strings.Cut(ref.text, "#")
	if id := c.root.get("$id"); base != "" && (id == nil || id.kind != text || strings.TrimSuffix(id.text, "#") != base) {
		c.fail(at, "$ref", "%.100q is outside of this document; put the schema into $defs and refer to it as #/$defs/name", ref.text)
		return nil
	}
	name, err := url.PathUnescape(fragment)
	if err != nil {
		c.fail(at, "$ref", "%.100q is not a reference: %v", ref.text, err)
		return nil
	}
	to := c.root
	if name != "" && name[0] != '/' {
		to = c.anchors[name]
	} else if name != "" {
		for part := range strings.SplitSeq(name[1:], "/") {
			to = to.child(pointerUnescapes.Replace(part))
			if to == nil {
				break
			}
		}
	}
	if to == nil {
		c.fail(at, "$ref", "there is nothing at %.100q in this document", ref.text)
	}
	return to
}

// child returns the member or item that a part of a JSON Pointer names, or nil.
func (v *value) child(name string) *value {
	if v.kind == array {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v.items) || strconv.Itoa(i) != name {
			return nil
		}
		return v.items[i]
	}
	return v.get(name)
}
