package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"dure/runtime/tool"
)

// sleeper takes its time, then prints.
type sleeper struct {
	takes  time.Duration
	output string
}

func (sleeper) Spec() tool.Spec { return tool.Spec{Name: "sleep"} }

func (s sleeper) Run(ctx context.Context, _ tool.Call) (tool.Result, error) {
	select {
	case <-time.After(s.takes):
		return tool.Result{Outcome: tool.Done, Output: s.output}, nil
	case <-ctx.Done():
		return tool.Result{Output: "half"}, ctx.Err()
	}
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r, err := tool.Within(time.Second, sleeper{takes: time.Hour}).Run(t.Context(), tool.Call{Tool: "sleep"})
		if err != nil || r.Outcome != tool.TimedOut || !strings.HasPrefix(r.Output, "half\n[stopped after 1s") {
			t.Errorf("%+v %v", r, err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
		if r, err := tool.Within(time.Second, sleeper{output: "x"}).Run(t.Context(), tool.Call{}); err != nil || r.Output != "x" {
			t.Errorf("%+v %v", r, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := tool.Within(time.Second, sleeper{takes: time.Hour}).Run(ctx, tool.Call{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own end: %v", err)
		}
	})
}

// kept is a Keeper in memory.
type kept map[string]string

func (k kept) Keep(_ context.Context, call tool.Call, output string) (string, error) {
	if k == nil {
		return "", errors.New("no room")
	}
	k[call.ID] = output
	return "out/" + call.ID, nil
}

func TestShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.String().Draw(t, "output") + strings.Repeat("두레", rapid.IntRange(0, 50).Draw(t, "more"))
		limit := rapid.IntRange(1, 100).Draw(t, "limit")
		k := kept{}
		r, err := tool.Short(limit, k, sleeper{output: output}).Run(context.Background(), tool.Call{ID: "c1"})
		if err != nil || r.Bytes != int64(len(output)) {
			t.Fatal(r, err)
		}
		if len(output) <= limit {
			if r.Output != output || len(k) != 0 {
				t.Fatalf("%q became %q", output, r.Output)
			}
			return
		}
		if k["c1"] != output || !strings.Contains(r.Output, "all of it is in out/c1]") {
			t.Fatalf("%q: not kept", r.Output)
		}
		head, rest, _ := strings.Cut(r.Output, "\n[")
		_, tail, _ := strings.Cut(rest, "]\n")
		var left int
		if _, err := fmt.Sscanf(rest, "%d bytes", &left); err != nil || len(head)+left+len(tail) != len(output) || len(head)+len(tail) > limit {
			t.Fatalf("%q: %d + %d + %d bytes of %d", r.Output, len(head), left, len(tail), len(output))
		}
		if !strings.HasPrefix(output, head) || !strings.HasSuffix(output, tail) || !utf8.ValidString(r.Output) {
			t.Fatalf("%q is not %q cut", r.Output, output)
		}
	})
	r, _ := tool.Short(4, kept(nil), sleeper{output: "123456"}).Run(t.Context(), tool.Call{})
	if !strings.Contains(r.Output, "could not be kept: no room") {
		t.Errorf("%q", r.Output)
	}
}

// What a model is told fits what Parse takes.
func TestSchemaAndParseAgree(t *testing.T) {
	spec := tool.Spec{Name: "search", Fields: []tool.Field{
		{Name: "pattern", Description: `a "regular" expression`, Required: true},
		{Name: "kind", Enum: []string{"text", "name"}},
	}}
	parameters := spec.Tool().Parameters
	var schema any
	if err := json.Unmarshal(parameters, &schema); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled := c.MustCompile("x.json")
	for _, arguments := range []string{
		`{"pattern":"x"}`, `{"pattern":"x","kind":"text"}`, `{"pattern":"x","kind":"other"}`, `{}`, `{"kind":"name"}`,
		`{"pattern":"x","more":"y"}`, `{"pattern":{}}`, `{"pattern":null}`, `[]`,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
		if err != nil {
			t.Fatal(err)
		}
		_, parsed := spec.Parse(arguments)
		if valid := compiled.Validate(value); (valid == nil) != (parsed == nil) {
			t.Errorf("%s: the schema says %v, Parse says %v", arguments, valid, parsed)
		}
	}
	if args, err := spec.Parse(`{"pattern": 3.50, "kind": "name"}`); err != nil || args["pattern"] != "3.50" {
		t.Errorf("a number: %v %v", args, err)
	}
}
