package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	benchkv "dure/inference/bench/kv"
	"dure/inference/pool"
)

// The column of the cache holds a value; what is to be said of it stands below the table.
func TestPsCacheColumn(t *testing.T) {
	gib := map[string]float64{"exact": 1 << 30}
	for _, c := range []struct {
		row          *cacheRow
		column, note string
	}{
		{nil, "-", ""},
		{&cacheRow{Keys: "f16", Values: "f16", Loss: benchkv.ExactLoss}, "f16", ""},
		{&cacheRow{Keys: "f16", Values: "f16", Loss: benchkv.ExactLoss, Class: "exact", Disk: gib}, "f16", ""},
		{&cacheRow{Keys: "q8_0", Values: "q4_0", Loss: "not measured"}, "q8_0/q4_0*", "cache q8_0/q4_0: not measured"},
		{&cacheRow{Keys: "f16", Values: "f16", Loss: benchkv.ExactLoss, Class: "near", Disk: gib}, "f16*", "cache f16: disk near: 1.0 GiB exact"},
		{&cacheRow{Keys: "f16", Values: "f16", Loss: benchkv.ExactLoss, Class: "exact", Disk: map[string]float64{"near": 1 << 30}}, "f16*", "cache f16: disk exact: 1.0 GiB near"},
	} {
		var out bytes.Buffer
		if err := printModels(&out, []loadedModel{{Name: "m", PID: 1, Cache: c.row, Pool: &pool.Status{Name: "m"}}}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if c.row.String() != c.column || !strings.Contains(lines[1], c.column) || len(lines) > 2 != (c.note != "") || !strings.HasSuffix(out.String(), c.note+"\n") && c.note != "" {
			t.Errorf("%+v: column %q, printed\n%s", c.row, c.row, out.String())
		}
	}
}

// --url and --addr are one flag, and take the same things.
func TestServerFlag(t *testing.T) {
	for given, want := range map[string]string{
		"127.0.0.1:1": "http://127.0.0.1:1", "http://127.0.0.1:1/v1": "http://127.0.0.1:1", "https://box/v1/": "https://box", "https://box/": "https://box",
	} {
		for _, name := range []string{"addr", "url"} {
			f, at := pflag.NewFlagSet("", pflag.ContinueOnError), ""
			serverFlag(f, &at, "the server")
			if err := f.Parse([]string{"--" + name, given}); err != nil || serverURL(at) != want || !f.Changed("addr") || !f.Changed("url") {
				t.Errorf("--%s %s: %q, want %q: %v", name, given, serverURL(at), want, err)
			}
		}
	}
}

// What stands in back quotes in a flag's help is the name of its value: a command there
// makes a switch look as if it took one.
func TestFlagsNameTheirValues(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.Contains(name, " ") {
				t.Errorf("%s --%s takes a %q", cmd.CommandPath(), f.Name, name)
			}
		})
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(newRoot())
}
