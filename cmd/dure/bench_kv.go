package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/bench"
	benchkv "dure/inference/bench/kv"
	"dure/inference/engine"
	"dure/kvcache/codec"
)

// kvBench measures what is lost when keys and values are kept in fewer bits.
type kvBench struct {
	types, classes     []string
	lengths, tasksAt   []string
	ruler              tokenCount
	follow             int
	texts, documents   int
	repeats            int
	seed               uint64
	threads            int
	time               time.Duration
	fast, asJSON, rows bool
	noKeep             bool
	calibrate          bool
	journal            string
}

func benchKVCommand() *cobra.Command {
	b := kvBench{ruler: 2 << 10}
	cmd := &cobra.Command{
		Use:   "kv [MODEL]",
		Short: "Measure what is lost when keys and values are kept in fewer bits, and remember it for --kv",
		Long: `Compare each type of the cache, and each class in which conversations that wait are
kept, with the f16 cache of the same model on the same engine: the divergence of the
next token's distribution over tokens that follow a context, needles, tasks like
RULER's, repetition of the context, and many questions on one state. Texts are made
from the seed. What is found is kept in DURE_HOME/` + qualityName + `: a type or class over
the bound is then refused at load (small and calibrated may lose as much as q4_0 cells
of the same model), and ` + "`dure plan`" + ` and ` + "`dure ps`" + ` show its loss.

Ctrl-C and --max-time end with what was measured until then, and --journal goes on
with it. What else computes meanwhile changes no figure but the speeds. ` + synthModel + `
stands for a synthetic hybrid: it shows that states are parked and set right, and says
nothing about quality.`,
		Example: "  dure bench kv\n  dure bench kv gemma-3-270m --max-time 30m\n  dure bench kv smollm2-135m --fast --json\n  dure bench kv --kv q8_0,q4_0 --classes none --lengths 4k\n  dure bench kv smollm2-135m --calibrate",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return b.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&b.types, "kv", benchkv.UsualTypes(), "types of the cache to measure, or pairs like q8_0/q4_0; none for none")
	f.StringSliceVar(&b.classes, "classes", []string{allClasses}, "classes of parked states to measure; none for none")
	f.StringSliceVar(&b.lengths, "lengths", nil, "tokens of the contexts (1k, 2k, 4k, 7k, 24k, as far as the model goes)")
	f.StringSliceVar(&b.tasksAt, "task-lengths", nil, "tokens of the documents of tasks (as --lengths, 7k at most); none for none")
	f.Var(&b.ruler, "ruler-most", "tokens of the longest documents of the tasks like RULER's; needles and many questions go on to --task-lengths")
	f.IntVar(&b.follow, "follow", 512, "tokens compared behind each context")
	f.IntVar(&b.texts, "texts", 4, "texts of each kind: prose, code, talk")
	f.IntVar(&b.documents, "documents", 2, "documents of each task at each length")
	f.IntVar(&b.repeats, "repeats", 2, "pieces of each context that are to be repeated")
	f.Uint64Var(&b.seed, "seed", 1, "of all texts")
	f.IntVar(&b.threads, "threads", 0, "compute threads on the CPU; 0 = one for each physical core")
	f.DurationVar(&b.time, "max-time", 30*time.Minute, "begin nothing that would end after so long; 0 = all, however long it takes")
	f.BoolVar(&b.fast, "fast", false, "a look: one short context of each kind, in less than a minute for a small model")
	f.BoolVar(&b.asJSON, "json", false, "print JSON")
	f.BoolVar(&b.rows, "samples", false, "with --json: each context and question too")
	f.StringVar(&b.journal, "journal", "", "file that keeps each part as it is measured; a later run with it goes on, also with more texts and documents")
	f.BoolVar(&b.calibrate, "calibrate", false, "only calibrate the model anew, for --cache-class calibrated, on texts of another seed than those that are measured")
	f.BoolVar(&b.noKeep, "no-keep", false, "do not remember what was found")
	cmd.MarkFlagsMutuallyExclusive("calibrate", "no-keep")
	return cmd
}

// kvRig is a model that is to be measured.
type kvRig struct {
	*benchRig
	model    *gguf.Model
	geometry *gguf.Geometry
	subject  benchkv.Subject
	basis    *codec.Basis // nil where nothing needs it
	remove   func()
}

func (b *kvBench) run(cmd *cobra.Command, args []string) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	r, err := b.open(ctx, args)
	if err != nil {
		return err
	}
	defer r.remove()
	if b.calibrate {
		return b.makeBasis(ctx, r)
	}
	opt, err := b.options(cmd, r)
	if err != nil {
		return err
	}
	if err := b.haveBasis(ctx, r, opt); err != nil {
		return err
	}
	opt.Tell = func(line string) { r.say("%s", line) }
	head := kvJournalHead(r.subject, opt)
	if r.basis != nil {
		head.Basis = fmt.Sprintf("%x", r.basis.Fingerprint())
	}
	j, err := openKVJournal(b.journal, head)
	if err != nil {
		return err
	}
	defer j.close()
	opt.Past, opt.Keep = j.past, j.keep
	var out benchkv.Outcome
	r.say("%s on %s: %d settings, contexts of %v tokens", r.subject.Model, r.subject.Engine, len(opt.Settings), opt.Lengths)
	err = bench.WithModel(ctx, r.engine.Set.Lib(), r.path, r.layers(), func(m *engine.Model) (err error) {
		out, err = benchkv.Run(ctx, m, opt)
		return err
	})
	interrupted := ctx.Err() != nil && out.Units > 0
	if err != nil && !interrupted {
		return err
	}
	report := benchkv.NewReport(opt, out, benchkv.DefaultBound(), r.rotation)
	codecsOf(&report, r.basis)
	if report.Subject = r.subject; r.subject.Synthetic {
		report.Unjudged()
	}
	err = b.tell(cmd.OutOrStdout(), report)
	if !b.noKeep && !r.subject.Synthetic {
		notes, failed := keepQuality(r.home, report)
		for _, n := range notes {
			r.say("%s", n)
		}
		err = errors.Join(err, failed)
	}
	if interrupted {
		return errors.Join(err, ctx.Err())
	}
	return err
}

func (b *kvBench) tell(out io.Writer, report benchkv.Report) error {
	if !b.asJSON {
		return report.Print(out)
	}
	if !b.rows {
		report.Samples, report.Replies = nil, nil
	}
	return json.NewEncoder(out).Encode(report)
}

// open finds model and engine.
func (b *kvBench) open(ctx context.Context, args []string) (_ *kvRig, err error) {
	r := &kvRig{remove: func() {}}
	synthetic := len(args) == 1 && args[0] == synthModel
	if synthetic {
		dir, err := os.MkdirTemp("", "dure-bench-kv-")
		if err != nil {
			return nil, err
		}
		r.remove = func() { os.RemoveAll(dir) }
		args = []string{filepath.Join(dir, synthModel+".gguf")}
		if err := writeSynthetic(args[0]); err != nil {
			r.remove()
			return nil, err
		}
	}
	if err = r.look(ctx, args, b.threads); err != nil {
		r.remove()
		return nil, err
	}
	r.subject.Synthetic = synthetic
	return r, nil
}

func writeSynthetic(path string) error {
	w, err := synth.NewQwen35(synth.HybridShape())
	if err != nil {
		return err
	}
	return w.WriteFile(path)
}

func (r *kvRig) look(ctx context.Context, args []string, threads int) (err error) {
	if r.benchRig, err = newLoneRig(ctx, args, benchOptions{threads: threads}); err != nil {
		return err
	}
	if r.model, err = gguf.Open(r.path); err != nil {
		return fmt.Errorf("model %s: %w", r.entry.Name, err)
	}
	defer r.model.Close()
	if r.geometry, err = r.model.Geometry(); err != nil {
		return fmt.Errorf("model %s: %w", r.entry.Name, err)
	}
	print, err := r.model.Fingerprint()
	r.subject = benchkv.Subject{Dure: buildVersion(), Engine: r.engine.key(), Model: r.entry.Name, Fingerprint: hex.EncodeToString(print)}
	return err
}

// rotation is what the engine does in this process's environment.
func (r *kvRig) rotation(keys, values gguf.TensorType) benchkv.Rotation {
	return rotationOf(r.geometry, keys, values)
}
