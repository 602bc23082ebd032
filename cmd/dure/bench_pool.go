package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/inference/bench"
	"dure/inference/plan"
)

// poolRow is what was measured of a model on an engine and its cards.
type poolRow struct {
	Engine  string          `json:"engine"`
	Model   string          `json:"model"`
	Split   bench.PoolCosts `json:"split"`
	Unified bench.PoolCosts `json:"unified"`
}

// faster is the pool that costs less; split where they are near, since there a
// request has its cells to itself.
func (r poolRow) faster() plan.Pool {
	const clearly = 0.95
	if r.Unified.Sum() < clearly*r.Split.Sum() {
		return plan.Unified
	}
	return plan.Split
}

// poolFile has the number of its form, as measured-1.json does.
func poolFile(home string) string { return filepath.Join(home, "pools-1.json") }

func (r poolRow) same(o poolRow) bool { return r.Engine == o.Engine && r.Model == o.Model }

// measuredPool is the faster pool for a model, "" where it was not measured.
func measuredPool(home, engine string, m plan.Model) plan.Pool {
	rows, _ := readRows[poolRow](poolFile(home)) // told by `dure bench pool`, which rewrites it
	if r, ok := rowLike(rows, poolRow{Engine: engine, Model: modelKey(m)}); ok {
		return r.faster()
	}
	return ""
}

type poolBench struct {
	opt    bench.PoolOptions
	asJSON bool
}

func benchPoolCommand() *cobra.Command {
	var b poolBench
	cmd := &cobra.Command{
		Use:   "pool [MODEL]",
		Short: "Measure how sequences should share the cells of the cache, and remember it for --pool auto",
		Long: `Load a model, fill its sequences, and time steps of all of them, steps of every
other one, and a chunk of a prompt, once with a pool for each sequence and once with
one pool for all. ` + "`dure serve --pool auto`" + ` then takes the faster one.`,
		Example: "  dure bench pool\n  dure bench pool qwen3.8-27b --sequences 16 --shared 2048",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return b.run(cmd, args) },
	}
	f := cmd.Flags()
	f.IntVar(&b.opt.Sequences, "sequences", 8, "sequences")
	f.IntVar(&b.opt.Shared, "shared", 256, "tokens that all sequences begin with")
	f.IntVar(&b.opt.Private, "private", 128, "tokens of each sequence's own")
	f.IntVar(&b.opt.Threads, "threads", 0, "compute threads on the CPU; 0 = one for each physical core")
	f.IntVar(&b.opt.Repetitions, "repeat", 5, "repetitions of each step")
	f.BoolVar(&b.asJSON, "json", false, "print JSON")
	return cmd
}

func (b *poolBench) run(cmd *cobra.Command, args []string) error {
	if b.opt.Sequences < 2 || b.opt.Sequences > 255 || b.opt.Shared < 1 || b.opt.Private < 1 || b.opt.Repetitions < 1 {
		return errors.New("needs 2 to 255 sequences, and at least one shared and private token and one repetition")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	r, err := newLoneRig(ctx, args, benchOptions{threads: b.opt.Threads})
	if err != nil {
		return err
	}
	b.opt.EngineDir, b.opt.ModelPath, b.opt.GPULayers = r.engine.Set.Lib(), r.path, r.layers()
	b.opt.Threads, b.opt.Poll = r.opt.threads, defaultPoll
	row := poolRow{Engine: r.engine.key()}
	if row.Model, err = modelKeyOf(r.path); err != nil {
		return err
	}
	if row.Split, row.Unified, err = bench.Pools(ctx, b.opt); err != nil {
		return err
	}
	err = rememberRow(poolFile(r.home), row)
	if b.asJSON {
		return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(row))
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d sequences, %d tokens shared and %d each\tSPLIT\tUNIFIED\n", b.opt.Sequences, b.opt.Shared, b.opt.Private)
	for _, line := range []struct {
		what           string
		split, unified float64
	}{
		{"step of all", row.Split.Dense, row.Unified.Dense},
		{"step of every other one", row.Split.Scattered, row.Unified.Scattered},
		{"128 tokens of a prompt", row.Split.Chunk, row.Unified.Chunk},
	} {
		fmt.Fprintf(w, "%s\t%.1f ms\t%.1f ms\n", line.what, line.split, line.unified)
	}
	fmt.Fprintf(w, "--pool auto takes\t%s\n", row.faster())
	return errors.Join(err, w.Flush())
}

func modelKeyOf(path string) (string, error) {
	m, err := gguf.Open(path)
	if err != nil {
		return "", err
	}
	defer m.Close()
	model, err := plan.FromFile(m)
	if err != nil {
		return "", err
	}
	return modelKey(model), nil
}
