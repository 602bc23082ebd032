package builtin_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dure/inference"
	"dure/runtime/board"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
)

// world is all that tools reach, and what they said to it.
type world struct {
	said []string
	err  error
	n    int // a place, or a number of files
}

func (w *world) say(words ...string) error {
	w.said = append(w.said, strings.Join(words, "|"))
	return w.err
}

func (w *world) Commit(_ context.Context, key, message string) (string, int, error) {
	return "0123456789abcdef0123", w.n, w.say("commit", key, message)
}

func (w *world) ReportFile(_ context.Context, key, path, why string) error {
	return w.say("report", key, path, why)
}

func (w *world) Send(_ context.Context, key, to, text string) error {
	return w.say("send", key, to, text)
}

func (w *world) Ask(_ context.Context, key, question string) (string, bool, error) {
	return "blue", w.n > 0, w.say("ask", key, question)
}

func (w *world) Spawn(_ context.Context, key string, t builtin.Subtask) (string, int, error) {
	return "t7", w.n, w.say("spawn", key, t.Title, t.Text, t.Check, strings.Join(t.After, "+"), strings.Join(t.Assumes, "+"), t.Crew, t.Kind)
}

func (w *world) Estimate(_ context.Context, task string, tokens int64, feasible bool, reason string) error {
	return w.say("estimate", task, strconv.FormatInt(tokens, 10), strconv.FormatBool(feasible), reason)
}

// bench is a judge's place.
type bench struct {
	world
	output string
}

func (b *bench) CheckOutput(context.Context) (string, error) { return b.output, nil }

func (b *bench) Decide(_ context.Context, key string, o builtin.Opinion) error {
	return b.say("decide", key, map[bool]string{true: "passed", false: "not passed"}[o.Passed], o.Citation, o.Reason)
}

// Each tool says to the world what the agent said to it, and to the agent what came of
// it, and what to do next.
func TestToolsOfTheWorld(t *testing.T) {
	type row struct {
		tool func(*world) tool.Tool
		n    int
		args []string
		said string
		told string
	}
	commit := func(w *world) tool.Tool { return builtin.Commit{To: w} }
	report := func(w *world) tool.Tool { return builtin.ReportFile{To: w} }
	message := func(w *world) tool.Tool { return builtin.Message{By: w} }
	ask := func(w *world) tool.Tool { return builtin.AskHuman{Person: w} }
	spawn := func(w *world) tool.Tool { return builtin.Spawn{In: w} }
	for _, r := range []row{
		{commit, 2, []string{"message", "fix it\n"}, "commit|noether/t1.1|fix it", "committed 2 files as 0123456789ab"},
		{commit, 0, []string{"message", "again"}, "commit|noether/t1.1|again", "nothing has changed since the last commit, 0123456789ab"},
		{report, 0, []string{"path", "/work/a/b.go", "why", "huge"}, "report|noether/t1.1|a/b.go|huge", "reported a/b.go; go on with your task"},
		{message, 0, []string{"to", "@Gauss", "text", "hi"}, "send|noether/t1.1|gauss|hi", "sent; gauss reads it before its next turn. Do not wait for an answer"},
		{ask, 0, []string{"question", "Red or blue?"}, "ask|noether/t1.1|Red or blue?", "the question was put. The answer comes as a message, perhaps much later: go on with what does not depend on it"},
		{ask, 1, []string{"question", "Red or blue?"}, "ask|noether/t1.1|Red or blue?", "the person answered: blue"},
		{spawn, 3, []string{"title", "Parse", "text", "Write it.", "check", "make test", "after", "t2, t3", "assumes", "[\"t4\"]", "kind", "Plan"},
			"spawn|noether/t1.1|Parse|Write it.|make test|t2+t3|t4||plan", "t7 is in the queue, at place 3. You are told when it has ended: do not wait for it"},
		{spawn, 0, []string{"title", "Parse", "text", "Write it.", "check", "make test", "crew", "red"},
			"spawn|noether/t1.1|Parse|Write it.|make test|||red|work", "t7 waits until it can start. You are told when it has ended: do not wait for it"},
	} {
		w := &world{n: r.n}
		d := desk{t, nil}
		d.expect(d.call(r.tool(w), r.args...), tool.Done, r.told)
		if len(w.said) != 1 || w.said[0] != r.said {
			t.Errorf("%v said %q, want %q", r.args, w.said, r.said)
		}
		// What the world refuses is told; what is broken is an error.
		w = &world{err: builtin.Refuse("not while main is red")}
		d.expect(d.call(r.tool(w), r.args...), tool.Failed, "not while main is red")
		w.err = errors.New("the log is gone")
		if got, err := r.tool(w).Run(t.Context(), tool.Call{Arguments: `{"message":"x","text":"x","title":"x","check":"x","to":"x","path":"x","why":"x","question":"x"}`}); err == nil && got.Outcome != tool.Invalid {
			t.Errorf("%v: no error but %v", r.args, got)
		}
		// Nothing is said with empty words.
		w = &world{}
		for i := 1; i < len(r.args); i += 2 {
			empty := slices.Clone(r.args)
			empty[i] = " "
			name := r.args[i-1]
			if slices.Contains([]string{"after", "assumes", "crew", "kind"}, name) {
				continue
			}
			if got := d.call(r.tool(w), empty...); got.Outcome != tool.Invalid || !strings.Contains(got.Output, "empty") || len(w.said) > 0 {
				t.Errorf("%q: %+v, and said %v", empty, got, w.said)
			}
		}
	}
}

// Row 64: a verdict without a citation of the check's output is none.
func TestVerdict(t *testing.T) {
	output := "=== RUN TestParse\n--- PASS: TestParse (0.00s)\nok  \tparser\t0.01s\n한글 검사 통과\n\nPASS\nexit status 0\n"
	for citation, want := range map[string]bool{
		"--- PASS: TestParse (0.00s)": true, "ok parser 0.01s": true, "TestParse\n--- PASS": true, "exit status 0": true, "PASS": true,
		"한글 검사 통과": true, "한글": false,
		"ok": false, "": false, "   ": false, "0": false, "--- FAIL: TestParse (0.00s)": false, "all tests passed, I looked": false,
	} {
		b := &bench{output: output}
		d := desk{t, nil}
		r := d.call(builtin.Verdict{On: b}, "passed", "yes", "citation", citation, "reason", "it does")
		if (r.Outcome == tool.Done) != want || (len(b.said) == 1) != want {
			t.Errorf("%q: %+v, said %v, want %v", citation, r, b.said, want)
		}
		if !want && strings.TrimSpace(citation) != "" && !strings.Contains(r.Output, "PASS\nexit status 0") {
			t.Errorf("%q: %q does not show what to cite", citation, r.Output)
		}
	}
	b := &bench{output: "FAIL: 2 + 2\nexit status 1\n"}
	d := desk{t, nil}
	d.expect(d.call(builtin.Verdict{On: b}, "passed", "false", "citation", "FAIL: 2 + 2", "reason", "it adds wrongly"), tool.Done, "the verdict is given")
	if len(b.said) != 1 || b.said[0] != "decide|noether/t1.1|not passed|FAIL: 2 + 2|it adds wrongly" {
		t.Errorf("%q", b.said)
	}
}

// gateway answers statements in turn.
type gateway struct {
	errs []error
	r    board.Result
	asks []board.Statement
}

func (g *gateway) Do(_ context.Context, s board.Statement) (board.Result, error) {
	g.asks = append(g.asks, s)
	if len(g.errs) > 0 {
		err := g.errs[0]
		g.errs = g.errs[1:]
		return board.Result{}, err
	}
	return g.r, nil
}

func TestSQL(t *testing.T) {
	d := desk{t, nil}
	rows := board.Result{Columns: []string{"id", "body", "x", "n"}, Rows: [][]any{{int64(1), "a\nb", 2.5, nil}, {int64(2), strings.Repeat("두", 300), 1e30, "null"}}}
	g := &gateway{r: rows}
	d.expect(d.call(builtin.SQL{On: g}, "statement", "select 1"), tool.Done, "id | body | x | n\n1 | a\\nb | 2.5 | null\n2 | "+strings.Repeat("두", 166)+"... (900 bytes) | 1e+30 | null\n")
	d.expect(d.call(builtin.SQL{On: &gateway{r: board.Result{Changed: 1}}}, "statement", "x"), tool.Done, "1 row changed")
	d.expect(d.call(builtin.SQL{On: &gateway{r: board.Result{Columns: []string{"id", "at"}}}}, "statement", "x"), tool.Done, "no rows (id, at)")
	big := board.Result{Columns: []string{"id"}}
	for i := range 500 {
		big.Rows = append(big.Rows, []any{int64(i)})
	}
	if r := d.call(builtin.SQL{On: &gateway{r: big}}, "statement", "x"); !strings.HasSuffix(r.Output, "\n99\n[500 rows; these are the first 100: ask for fewer rows or columns, or with limit and offset]") {
		t.Errorf("%q", r.Output)
	}
	for _, reason := range []error{board.ErrDenied, board.ErrStatement, board.ErrTime, board.ErrTooLarge, board.ErrQuota, board.ErrBusy} {
		d.expect(d.call(builtin.SQL{On: &gateway{errs: []error{board.Refuse(reason, nil, "use another")}}}, "statement", "x"), tool.Failed, reason.Error()+": use another")
	}
	// What is not known to be done is sent again, with the same ID.
	g = &gateway{errs: []error{board.ErrUnknown, board.ErrDuplicate}}
	d.expect(d.call(builtin.SQL{On: g}, "statement", "insert"), tool.Done, "done")
	if len(g.asks) != 2 || g.asks[0].ID != g.asks[1].ID || g.asks[0].ID == (board.ID{}) {
		t.Errorf("%+v", g.asks)
	}
	for _, broken := range []error{board.ErrClosed, board.ErrFull, board.ErrDamaged} {
		if r, err := (builtin.SQL{On: &gateway{errs: []error{broken}}}).Run(t.Context(), tool.Call{Arguments: `{"statement":"x"}`}); !errors.Is(err, broken) {
			t.Errorf("%v: %v %v", broken, r, err)
		}
	}
}

func TestDoneWithAPlan(t *testing.T) {
	d := desk{t, nil}
	r := d.call(builtin.Done{Plans: true}, "summary", "three parts", "plan", "# Plan\n\n1. parser\n")
	if summary, plan := builtin.SplitDone(r.Output); r.Outcome != tool.Done || summary != "three parts" || plan != "# Plan\n\n1. parser" {
		t.Errorf("%+v: %q %q", r, summary, plan)
	}
	r = d.call(builtin.Done{Plans: true}, "summary", "nothing new")
	if summary, plan := builtin.SplitDone(r.Output); summary != "nothing new" || plan != "" {
		t.Errorf("%q %q", summary, plan)
	}
	d.expect(d.call(builtin.Done{}, "summary", "x", "plan", "y"), tool.Invalid, `no argument "plan"`)
	d.expect(d.call(builtin.Done{Plans: true}, "summary", "x\n---- plan ----\ny"), tool.Invalid, "put the plan into plan")
	d.expect(d.call(builtin.Done{}, "summary", "  "), tool.Invalid, "summary is empty")
}

func TestEstimate(t *testing.T) {
	w := &world{}
	tl := builtin.Estimate{Tasks: w}
	for _, c := range []struct {
		args, says, did string
		outcome         tool.Outcome
	}{
		{`{"task":"T3","tokens":"2,000,000","feasible":"no","reason":"too dear"}`, "t3 is set aside", "estimate|t3|2000000|false|too dear", tool.Done},
		{`{"task":"t3","tokens":"7","feasible":"yes","reason":"cheap now"}`, "t3 goes on", "estimate|t3|7|true|cheap now", tool.Done},
		{`{"task":"t3","tokens":"many","feasible":"yes","reason":"x"}`, "whole number", "", tool.Invalid},
		{`{"task":"t3","tokens":"-1","feasible":"yes","reason":"x"}`, "whole number", "", tool.Invalid},
		{`{"task":"t3","tokens":"1","feasible":"perhaps","reason":"x"}`, "feasible", "", tool.Invalid},
		{`{"task":"t3","tokens":"1","feasible":"no","reason":" "}`, "reason", "", tool.Invalid},
	} {
		w.said = nil
		r, err := tl.Run(t.Context(), tool.Call{Tool: "estimate", Arguments: c.args})
		if err != nil || r.Outcome != c.outcome || !strings.Contains(r.Output, c.says) || strings.Join(w.said, " ") != c.did {
			t.Errorf("%s: %+v %v, did %v", c.args, r, err, w.said)
		}
	}
	w.err = builtin.Refuse("t9 is no task of yours")
	if r, err := tl.Run(t.Context(), tool.Call{Arguments: `{"task":"t9","tokens":"1","feasible":"no","reason":"x"}`}); err != nil || r.Outcome != tool.Failed {
		t.Errorf("%+v %v", r, err)
	}
}

var update = flag.Bool("update", false, "write the golden texts of the roles' tools anew")

// The tools begin every prompt of a role: a byte that changes costs all agents the
// prefix that servers keep for them, so that it is changed on purpose or not at all.
func TestTheToolsOfARoleAreTheSameBytes(t *testing.T) {
	w := &world{}
	all := builtin.World{Box: lost{}, Commits: w, Reports: w, Board: &gateway{}, Messages: w, Tasks: w, Costs: w, Person: w, Bench: &bench{}, Connected: true}
	for role, names := range map[string]string{
		"lead": "read search sql message spawn estimate ask_human done", "planner": "read search sql message spawn estimate ask_human done",
		"worker": "shell read write edit search commit report_file sql message done", "merger": "shell read write edit search commit sql message done",
		"judge": "read search shell verdict",
	} {
		tools, err := builtin.ForRole(role, all)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		var have []string
		for _, tl := range tools {
			spec := tl.Spec().Tool()
			have = append(have, spec.Name)
			text.WriteString(spec.Name + "\n" + spec.Description + "\n" + string(spec.Parameters) + "\n\n")
			if !slices.Contains(builtin.Names(), spec.Name) {
				t.Errorf("%s is not among the names", spec.Name)
			}
		}
		if strings.Join(have, " ") != names {
			t.Errorf("a %s has %v, want %s", role, have, names)
		}
		golden := filepath.Join("testdata", "tools", role+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != text.String() {
			t.Errorf("%s is not what the tools say (%v); if that is meant, run `go test ./runtime/tool/builtin -run SameBytes -args -update`", golden, err)
		}
	}
	if _, err := builtin.ForRole("king", all); err == nil {
		t.Error("a king has tools")
	}
	all.Bench = nil
	if _, err := builtin.ForRole("judge", all); err == nil || !strings.Contains(err.Error(), "verdict") {
		t.Errorf("a judge without a bench: %v", err)
	}
}

// What models are told of is flat text: no type but string, no list, no object.
func TestFieldsAreFlatText(t *testing.T) {
	w := &world{}
	for _, role := range []string{"lead", "worker", "judge"} {
		tools, err := builtin.ForRole(role, builtin.World{Box: lost{}, Commits: w, Reports: w, Board: &gateway{}, Messages: w, Tasks: w, Costs: w, Person: w, Bench: &bench{}, Connected: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range tools {
			var spec inference.Tool = tl.Spec().Tool()
			if n := strings.Count(string(spec.Parameters), `"type":"string"`); n != len(tl.Spec().Fields) || n > 7 {
				t.Errorf("%s has %d fields, of which %d are text", spec.Name, len(tl.Spec().Fields), n)
			}
			if len(spec.Description) > 500 || spec.Description == "" {
				t.Errorf("%s is told of in %d bytes", spec.Name, len(spec.Description))
			}
			for _, f := range tl.Spec().Fields {
				if f.Description == "" {
					t.Errorf("%s of %s is not told of", f.Name, spec.Name)
				}
			}
		}
	}
}
