package patches

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"dure/runtime/scripted"
)

// script is what the team's agents say.
func script(tasks []Task, o Options, random *rand.Rand) *scripted.Script {
	pace := scripted.Duration(o.Pace)
	s := &scripted.Script{Name: "patches", Latency: &pace}
	var lead []scripted.Call
	for i := range o.Planners {
		mine := share(tasks, i, o.Planners)
		lead = append(lead, spawn(fmt.Sprintf("group-%d", i+1), "plan", fmt.Sprintf("Group %d of the patches.", i+1), checks(mine)))
		s.Parts = append(s.Parts, planner(fmt.Sprintf("group-%d", i+1), mine))
	}
	s.Parts = append(s.Parts, scripted.Part{Name: "lead", Role: "lead", Turns: []scripted.Turn{
		{Calls: []scripted.Call{call("read", "path", "lib.sh")}},
		{Calls: lead},
		{Name: "done", Calls: []scripted.Call{call("done", "summary", fmt.Sprintf("%d groups of patches.", o.Planners))}, Next: []scripted.Next{{Go: "done"}}},
	}})
	for _, t := range tasks {
		s.Parts = append(s.Parts, worker(t, o, random))
	}
	s.Parts = append(s.Parts, merger(), judge())
	return s
}

// share is the part of the tasks that one of n planners gets.
func share(tasks []Task, i, n int) []Task {
	size := (len(tasks) + n - 1) / n
	return tasks[min(i*size, len(tasks)):min((i+1)*size, len(tasks))]
}

func checks(tasks []Task) string {
	all := make([]string, len(tasks))
	for i, t := range tasks {
		all[i] = t.Check
	}
	return strings.Join(all, " && ")
}

func call(tool string, pairs ...string) scripted.Call {
	c := scripted.Call{Tool: tool, Arguments: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		c.Arguments[pairs[i]] = pairs[i+1]
	}
	return c
}

func spawn(slug, kind, text, check string) scripted.Call {
	return call("spawn", "title", slug, "kind", kind, "text", "task: "+slug+"\n"+text, "check", check)
}

func planner(slug string, tasks []Task) scripted.Part {
	var all []scripted.Call
	for _, t := range tasks {
		all = append(all, call("spawn", "title", t.Title, "kind", "work", "text", t.Text, "check", t.Check))
	}
	return scripted.Part{Name: slug, Role: "planner", Task: slug, Turns: []scripted.Turn{
		{Calls: all},
		{Name: "done", Calls: []scripted.Call{call("done", "summary", fmt.Sprintf("%d patches.", len(tasks)))}, Next: []scripted.Next{{Go: "done"}}},
	}}
}

// worker goes the way that its task's fault says.
func worker(t Task, o Options, random *rand.Rand) scripted.Part {
	shell := func(name, command string) scripted.Turn {
		return scripted.Turn{Name: name, Calls: []scripted.Call{call("shell", "command", command)}}
	}
	done := scripted.Turn{Name: "done", Calls: []scripted.Call{call("done", "summary", t.Title+" is made.")}}
	end := scripted.Turn{Name: "end", Calls: done.Calls, Next: []scripted.Next{{Go: "end"}}}
	var turns []scripted.Turn
	switch t.Fault {
	case BadPatch, Oversize: // said to be done while it is not
		turns = []scripted.Turn{shell("", "ls parts && cat lib.sh"), shell("", t.wrong), done, shell("", t.right), shell("", t.Check), end}
	case EarlyDone:
		turns = []scripted.Turn{done, shell("", t.right), shell("", t.Check), end}
	case Runaway:
		turns = []scripted.Turn{shell("", t.wrong), shell("", t.right), shell("", t.Check), end}
	default:
		turns = []scripted.Turn{shell("", "ls parts && cat lib.sh"), shell("", t.right), shell("", t.Check), end}
	}
	for i := range turns {
		d := scripted.Duration(time.Duration(float64(o.Pace) * (0.1 + 1.8*random.Float64())).Round(time.Millisecond))
		turns[i].Latency = &d
	}
	return scripted.Part{Name: t.Slug, Role: "worker", Task: t.Slug, Turns: turns}
}

// settle keeps the larger limit at each place with markers.
const settle = `inside=
while IFS= read -r line; do
	case $line in
	'<<<<<<<'*) inside=yes best=0 ;;
	'>>>>>>>'*) echo "limit $name: $best"; inside= ;;
	*)
		if [ -z "$inside" ]; then
			echo "$line"
		elif [ "${line#limit }" != "$line" ]; then
			name=${line#limit } value=${line##*: }
			name=${name%%:*}
			[ "$value" -le "$best" ] || best=$value
		fi ;;
	esac
done < table.txt > table.new && mv table.new table.txt`

func merger() scripted.Part {
	return scripted.Part{Name: "merger", Role: "merger", Match: `table\.txt`, Turns: []scripted.Turn{
		{Calls: []scripted.Call{call("shell", "command", "grep -n -A6 '<<<<<<<' table.txt")}},
		{Calls: []scripted.Call{call("shell", "command", settle)}},
		{Calls: []scripted.Call{call("shell", "command", "grep '^limit' table.txt")}},
		{Name: "done", Calls: []scripted.Call{call("done", "summary", "Of the two limits the larger one stays, which is enough for both.")}, Next: []scripted.Next{{Go: "done"}}},
	}}
}

func judge() scripted.Part {
	return scripted.Part{Name: "judge", Role: "judge", Match: "as expected", Turns: []scripted.Turn{
		{Calls: []scripted.Call{call("shell", "command", "ls parts; grep '^limit' table.txt")}},
		{Name: "verdict", Calls: []scripted.Call{call("verdict", "passed", "yes", "citation", "as expected", "reason", "The check printed what it must.")}, Next: []scripted.Next{{Go: "verdict"}}},
	}}
}
