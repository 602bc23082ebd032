package kv

import (
	"fmt"
	"strings"
)

// talker writes a conversation of a user with an assistant that calls tools: files
// with settings that are read, changed and read again.
type talker struct {
	dice
	files []file
	begun bool
	past  []string // what was found out
}

type file struct {
	path   string
	keys   []string
	values map[string]string
}

var (
	folders  = strings.Fields("config deploy service build web worker billing search mail metrics")
	settings = strings.Fields("port timeout retries region replicas memory_mb log_level queue_size batch cache_ttl max_conn token_limit")
	regions  = strings.Fields("north south east west central")
)

func newTalker(d dice) *talker {
	t := &talker{dice: d}
	for _, folder := range d.some(folders, 6) {
		f := file{path: folder + "/" + d.of(folders) + ".json", keys: d.some(settings, 5), values: map[string]string{}}
		for _, k := range f.keys {
			f.values[k] = t.value(k)
		}
		t.files = append(t.files, f)
	}
	return t
}

func (t *talker) value(key string) string {
	switch key {
	case "region":
		return `"` + t.of(regions) + `"`
	case "log_level":
		return `"` + t.of([]string{"debug", "info", "warn", "error"}) + `"`
	}
	return t.number(2 + t.IntN(3))
}

// next is a turn of the user and what comes of it.
func (t *talker) next() string {
	var b strings.Builder
	if !t.begun {
		t.begun = true
		b.WriteString("System: You are an assistant that answers questions about a project. You may call the tools read_file and write_setting. Answer in one or two sentences.\n\n")
	}
	f := t.files[t.IntN(len(t.files))]
	key := t.of(f.keys)
	switch {
	case len(t.past) > 2 && t.chance(25):
		fmt.Fprintf(&b, "User: What did we find out before about this project?\n\nAssistant: %s\n\n", t.of(t.past))
	case t.chance(35):
		value := t.value(key)
		fmt.Fprintf(&b, "User: Please set %s in %s to %s.\n\n", key, f.path, value)
		fmt.Fprintf(&b, "Assistant: {\"name\": \"write_setting\", \"arguments\": {\"path\": %q, \"key\": %q, \"value\": %s}}\n\n", f.path, key, value)
		fmt.Fprintf(&b, "Tool: {\"ok\": true, \"path\": %q, \"before\": %s, \"after\": %s}\n\n", f.path, f.values[key], value)
		fmt.Fprintf(&b, "Assistant: Done. In %s the %s was %s and is now %s.\n\n", f.path, key, f.values[key], value)
		f.values[key] = value
	default:
		fmt.Fprintf(&b, "User: What is the %s in %s?\n\nAssistant: {\"name\": \"read_file\", \"arguments\": {\"path\": %q}}\n\n", key, f.path, f.path)
		fmt.Fprintf(&b, "Tool: {")
		for i, k := range f.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q: %s", k, f.values[k])
		}
		said := fmt.Sprintf("The %s in %s is %s.", key, f.path, f.values[key])
		t.past = append(t.past, said)
		fmt.Fprintf(&b, "}\n\nAssistant: %s\n\n", said)
	}
	return b.String()
}
