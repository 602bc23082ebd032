package patches

import (
	"fmt"
	"strings"
)

// faults are those of parts and rows, by slug; those of limits are all StaleBase.
var faults = map[string]Fault{
	"part-05": BadPatch, "part-23": BadPatch, "row-09": BadPatch,
	"part-29": EarlyDone, "row-03": EarlyDone,
	"part-11": Oversize, "part-36": Oversize,
	"part-17": Runaway,
}

// tasks are all of them: those that contradict each other first.
func tasks(o Options) []Task {
	all := []Task{limit("alpha", "low", 10), limit("alpha", "high", 20), limit("beta", "low", 30), limit("beta", "high", 40)}
	for i := range parts {
		all = append(all, part(i+1))
	}
	for i := range rows {
		all = append(all, row(i+1))
	}
	for i := range all {
		t := &all[i]
		if f := faults[t.Slug]; f != None {
			t.Fault = f
		}
		t.Text = "task: " + t.Slug + "\n" + t.Text
		switch t.Fault {
		case Oversize:
			t.wrong = fmt.Sprintf("%s\nhead -c %d /dev/zero > parts/large.bin", t.right, o.Oversize)
			t.right = "rm -f parts/large.bin"
		case Runaway:
			t.wrong = "while :; do sleep 1; done" // endless, and no burden to the machine of a test
		}
	}
	return all
}

func part(n int) Task {
	path := fmt.Sprintf("parts/%02d.sh", n)
	body := func(times int) string { return fmt.Sprintf("part%02d() { echo $(($1 * %d + %d)); }\n", n, times, n%7) }
	command := func(times int) string { return fmt.Sprintf("cat > %s <<'END'\n%sEND", path, body(times)) }
	return Task{
		Slug: fmt.Sprintf("part-%02d", n), Title: fmt.Sprintf("part%02d", n),
		Text:  fmt.Sprintf("Write %s with the function part%02d: %d times its argument and %d.", path, n, n, n%7),
		Check: fmt.Sprintf("sh check/part.sh part%02d 3 %d", n, value(n, 3)),
		Apply: func(tree map[string]string) { tree[path] = body(n) },
		wrong: command(n + 1), right: command(n),
	}
}

// set is a command that replaces one line of the table.
func set(key, value string) string {
	return fmt.Sprintf("sed 's/^%s: .*/%s: %s/' table.txt > table.new && mv table.new table.txt", key, key, value)
}

// put is what set does.
func put(tree map[string]string, key, value string) {
	lines := strings.SplitAfter(tree[table], "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, key+": ") {
			lines[i] = key + ": " + value + "\n"
		}
	}
	tree[table] = strings.Join(lines, "")
}

func row(n int) Task {
	key := fmt.Sprintf("row %02d", n)
	return Task{
		Slug: fmt.Sprintf("row-%02d", n), Title: key,
		Text:  fmt.Sprintf("Set %s of table.txt to %s. Leave the other lines as they are.", key, word(n)),
		Check: fmt.Sprintf("sh check/row.sh %02d %s", n, word(n)),
		Apply: func(tree map[string]string) { put(tree, key, word(n)) },
		wrong: set(key, "wrong"), right: set(key, word(n)),
	}
}

// limit is a task that another one contradicts. It leaves what is enough already.
func limit(name, slug string, least int) Task {
	key := "limit " + name
	return Task{
		Slug: name + "-" + slug, Title: fmt.Sprintf("%s of %d or more", key, least), Fault: StaleBase,
		Text:  fmt.Sprintf("Set the %s of table.txt to %d, unless it is that or more already.", key, least),
		Check: fmt.Sprintf("sh check/limit.sh %s %d", name, least),
		Apply: func(tree map[string]string) {
			mine := map[string]string{table: tree[table]}
			put(mine, key, fmt.Sprint(least))
			tree[table] = Resolve(tree[table], mine[table])
		},
		right: fmt.Sprintf("if ! sh check/limit.sh %s %d; then\n%s\nfi", name, least, set(key, fmt.Sprint(least))),
	}
}
