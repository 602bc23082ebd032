package prefix

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache"
	"dure/kvcache/codec"
	"dure/kvcache/store"
)

var operations = flag.Int("operations", 6600, "operations of the long walk, over all its contexts")

const (
	walkSlots = 4
	walkCells = 256 // of each sequence
	walkTalks = 24
	walkSeed  = 5
)

// Many operations in any order, with crashes and damaged files among them, on
// tiers that are far too small: no sequence ever holds what is of other tokens.
func TestManyOperations(t *testing.T) {
	hybrid, plain := written(t, synth.Qwen35, synth.Config{}), enginetest.Llama(t, synth.Config{HeadDim: 64})
	window := written(t, synth.Gemma3, synth.Config{HeadDim: 64, Window: 48})
	all := []struct {
		name     string
		path     string
		unified  bool
		geometry func(*gguf.Geometry) *gguf.Geometry
		smaller  bool // states on disk are coded anew, with loss, when room is short
	}{
		{"hybrid unified", hybrid, true, asItIs, false},
		{"hybrid split", hybrid, false, asItIs, false},
		{"plain unified", plain, true, asItIs, false},
		{"plain split", plain, false, asItIs, false},
		{"window unified", window, true, asItIs, false},
		{"window split", window, false, asItIs, false},
		{"hybrid opaque unified", hybrid, true, misread, false},
		{"hybrid opaque split without disk", hybrid, false, unread, false},
		{"plain opaque split", plain, false, misread, false},
		{"plain unified smaller", plain, true, asItIs, true},
		{"hybrid split smaller", hybrid, false, asItIs, true},
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			w := newWalk(t, subject{path: c.path, unified: c.unified, flash: engine.FlashOff, far: 1e-2}, c.geometry, c.smaller)
			for range *operations / len(all) {
				w.operate()
			}
			w.end()
		})
	}
}

// What a context is told of its model: all, what is wrong, so that states are
// kept whole, or nothing, so that there is no disk tier either.
func asItIs(g *gguf.Geometry) *gguf.Geometry { return g }

func misread(g *gguf.Geometry) *gguf.Geometry {
	g.Layers = slices.Clone(g.Layers)
	for i := range g.Layers {
		g.Layers[i].KeyDim++
	}
	return g
}

func unread(*gguf.Geometry) *gguf.Geometry { return nil }

// walk is a cache and those who use it, at random.
type walk struct {
	*rig
	rng    *rand.Rand
	opt    Options
	proofs *proofs
	trunks [][]int32
	talks  []*talk
	open   []*turn
	pins   []kvcache.PinID
	did    tally
	gone   kvcache.Counts // of caches that ended
	warns  warnings
	// recoded states, and turns that went on from a loss.
	recoded, lossy int
}

// tally is what was met.
type tally struct {
	turns, full, unplaced, finished, compared, restarts, spoiled, refused int
	reused                                                                map[string]int
}

// turn is a request that runs.
type turn struct {
	id      kvcache.LeaseID
	k       *talk
	all     []int32 // prompt, and the answer that will be drawn
	prompt  int
	room    int // tokens that were asked for
	plan    kvcache.Plan
	started bool
	read    int
	logits  []float32
}

func newWalk(t *testing.T, s subject, tell func(*gguf.Geometry) *gguf.Geometry, smaller bool) *walk {
	t.Helper()
	m := enginetest.Load(t, s.path)
	w := &walk{rig: &rig{t: t, s: s}, rng: rand.New(rand.NewPCG(walkSeed, uint64(len(t.Name())))), proofs: newProofs(), warns: warnings{t: t}}
	w.did.reused = map[string]int{}
	o := engine.ContextOptions{Cells: walkSlots * walkCells, Sequences: walkSlots + Spares(s.unified), Batch: 128, MicroBatch: 128,
		Outputs: walkSlots + 1, Threads: 1, FlashAttention: s.flash, Unified: s.unified, ShortWindow: true}
	if !s.unified {
		o.Cells = o.Sequences * walkCells
	}
	w.ctx, w.batch = open(t, m, o)
	o.Sequences, o.Cells, o.Unified, o.ShortWindow = 1, walkCells, true, false
	w.cold, w.coldB = open(t, m, o)
	file, err := gguf.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g, err := file.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	w.opt = Options{Slots: walkSlots, Cells: walkSlots * walkCells, Facts: m.Facts(), Geometry: tell(g), RAMBytes: 600 << 10,
		Disk: Disk{Dir: t.TempDir(), Bytes: 2 << 20, Model: []byte("walk"), Engine: "0.5.0"}}
	if smaller {
		// What is lost is more than noise, and far less than what other tokens give.
		w.opt.Disk.Class, w.opt.Disk.Bytes, w.proofs.wrong, w.s.far, w.s.kl = codec.Exact, 300<<10, 0.5, 0, 1
		w.opt.Disk.Smaller = []kvcache.Coding{{Class: uint8(codec.Near), Part: 0.6}, {Class: uint8(codec.Small), Part: 0.5}}
	}
	if s.unified {
		w.opt.Cells /= 2 // shared cells count once
	}
	w.proofs.recurrent = w.opt.Facts.Recurrent || w.opt.Facts.Hybrid
	w.boot()
	for range 2 {
		w.trunks = append(w.trunks, w.text(60))
	}
	for i := range walkTalks {
		w.talks = append(w.talks, &talk{session: kvcache.SessionID(i + 1)})
	}
	return w
}

func (w *walk) boot() {
	w.t.Helper()
	var err error
	if w.c, err = Open(w.ctx, w.batch, w.opt, slog.New(&w.warns)); err != nil {
		w.t.Fatal(err)
	}
	if opaque := w.c.Opaque() != nil; w.c.Stats().NoDisk != "" || opaque != (w.c.layout.Pools == nil) {
		w.t.Fatalf("%+v", w.c.Stats())
	}
}

func (w *walk) text(n int) (out []int32) {
	for range n {
		out = append(out, int32(3+w.rng.IntN(250)))
	}
	return out
}

// operate does one thing.
func (w *walk) operate() {
	w.t.Helper()
	w.now += kvcache.Tick(w.rng.Int64N(2e9))
	w.take(w.rng.IntN(8) == 0)
	var idle int
	if seqs := w.c.Idle(); len(seqs) > 0 {
		idle = seqs[w.rng.IntN(len(seqs))]
	}
	k := w.talks[w.rng.IntN(len(w.talks))]
	switch n := w.rng.IntN(1000); {
	case n < 120:
		w.begin(k)
	case n < 620:
		w.advance()
	case n < 720:
		w.step()
	case n < 740:
		w.leave(w.any(), true)
	case n < 760:
		w.leave(w.any(), false)
	case n < 810:
		if err := w.c.Park(w.now, idle); err != nil && !errors.Is(err, kvcache.ErrFull) {
			w.t.Fatal(err)
		}
	case n < 860:
		w.c.Backup(w.now, idle)
	case n < 910:
		w.c.Balance(w.now)
	case n < 940:
		w.c.Hint(w.now, k.session, kvcache.Phase(w.rng.IntN(4)-1))
	case n < 950:
		w.c.Forget(k.session)
	case n < 965:
		w.pin(k)
	case n < 984:
		w.reserve(w.any())
	case n < 992:
		w.spoil()
	default:
		w.restart()
	}
	w.pump()
}

// warnings fail the test where an action failed for another reason than a damaged
// file: a cache that always reads again is right, and good for nothing.
type warnings struct{ t *testing.T }

func (w *warnings) Enabled(context.Context, slog.Level) bool { return true }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && r.Message == "prefix cache" && !errors.Is(err, store.ErrBad) {
			w.t.Errorf("an action failed: %v", err)
		}
		return true
	})
	return nil
}

// WithAttrs and WithGroup implement slog.Handler: what they would add is not looked
// at.
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *warnings) WithGroup(string) slog.Handler      { return w }

// take receives what the disk has done; all of it if it is waited for.
func (w *walk) take(wait bool) {
	w.t.Helper()
	if !wait && w.rng.IntN(4) > 0 {
		return // what the disk has done is seen late: much happens meanwhile
	}
	for w.c.Busy() {
		select {
		case r := <-w.c.Fetched():
			w.c.Completed(w.now, r)
			w.pump()
			continue
		default:
		}
		if !wait {
			return
		}
		w.c.Completed(w.now, <-w.c.Fetched())
		w.pump()
	}
}

func (w *walk) any() *turn {
	if len(w.open) == 0 {
		return nil
	}
	return w.open[w.rng.IntN(len(w.open))]
}

// begin takes a conversation up again: as it was, from an earlier place in it, or
// from its very beginning.
func (w *walk) begin(k *talk) {
	w.t.Helper()
	past := k.tokens
	switch {
	case len(past) == 0 || len(past) > walkCells-70 || w.rng.IntN(12) == 0:
		past = w.trunks[w.rng.IntN(len(w.trunks))]
		k.marks = []int{len(past)}
	case w.rng.IntN(6) == 0:
		past = past[:1+w.rng.IntN(len(past))]
	}
	prompt := append(slices.Clone(past), w.text(1+w.rng.IntN(24))...)
	marks := append(slices.DeleteFunc(slices.Clone(k.marks), func(m int) bool { return m > len(past) }), len(prompt))
	rank := kvcache.Unranked
	if len(w.opt.Disk.Smaller) > 0 {
		rank = kvcache.Rank(w.rng.IntN(4))
	}
	r := &turn{k: k, prompt: len(prompt), room: w.rng.IntN(12), all: append(prompt, w.text(w.rng.IntN(16))...)}
	var err error
	r.id, _, err = w.c.Acquire(w.now, kvcache.Request{Tokens: prompt[:len(prompt):len(prompt)], Marks: marks, Output: r.room, Session: k.session, Rank: rank})
	switch {
	case errors.Is(err, kvcache.ErrFull):
		w.did.full++
	case err != nil:
		w.t.Fatal(err)
	default:
		w.did.turns++
		w.open = append(w.open, r)
		k.tokens, k.marks = prompt, marks
	}
}

// ready starts a turn whose sequence holds what is reused, which is proven.
func (w *walk) ready(r *turn) bool {
	w.t.Helper()
	if r.started {
		return true
	}
	plan, ready, err := w.c.Ready(r.id)
	if err != nil { // it could not be placed again
		w.did.unplaced++
		w.drop(r)
		w.c.Release(w.now, r.id, kvcache.Unknown)
		return false
	}
	if !ready {
		return false
	}
	r.plan, r.read, r.started = plan, plan.Reuse, true
	w.did.reused[plan.Tier.String()]++
	if w.c.Loss(plan.Slot) > codec.Exact {
		w.lossy++
	}
	w.proofs.holds(w.rig, plan.Slot, r.all[:plan.Reuse])
	return true
}

// advance computes the next piece of a turn: of its prompt up to where a state is
// kept, or a token of its answer.
func (w *walk) advance() {
	w.t.Helper()
	r := w.any()
	if r == nil || !w.ready(r) || !w.provided(r) {
		return
	}
	to := r.read + 1
	if r.read < r.prompt {
		to = min(r.prompt, r.read+1+w.rng.IntN(60))
		if len(r.plan.Stops) > 0 {
			to = min(to, r.plan.Stops[0])
		}
	}
	w.batch.Reset()
	for p := r.read; p < to; p++ {
		w.add(r, p, p == to-1)
	}
	w.compute()
	w.computed(r, to, w.batch.Len()-1)
}

// step computes a token of each answer in one call.
func (w *walk) step() {
	w.t.Helper()
	var rows []*turn
	for _, r := range slices.Clone(w.open) {
		if w.ready(r) && r.read >= r.prompt && w.provided(r) {
			rows = append(rows, r)
		}
	}
	// One that was asked for room may have taken the place of another: none of a
	// running turn, though.
	slices.SortFunc(rows, func(a, b *turn) int { return a.plan.Slot - b.plan.Slot })
	if len(rows) == 0 {
		return
	}
	w.pump()
	w.batch.Reset()
	for _, r := range rows {
		w.add(r, r.read, true)
	}
	w.compute()
	for i, r := range rows {
		w.computed(r, r.read+1, i)
	}
}

func (w *walk) add(r *turn, p int, logits bool) {
	w.t.Helper()
	if err := w.batch.Add(r.all[p], p, r.plan.Slot, logits); err != nil {
		w.t.Fatal(err)
	}
}

func (w *walk) compute() {
	w.t.Helper()
	if err := w.ctx.Decode(w.batch); err != nil {
		w.t.Fatal(err)
	}
}

// provided sees to it that the next token of an answer has a cell. What makes
// room for it must be carried out before anything is computed.
func (w *walk) provided(r *turn) bool {
	w.t.Helper()
	if r.read < r.prompt+r.room {
		return r.read < len(r.all) || w.finish(r)
	}
	if r.read == len(r.all) {
		return w.finish(r)
	}
	if !w.reserve(r) {
		w.leave(r, false)
		return false
	}
	w.pump()
	return true
}

func (w *walk) reserve(r *turn) bool {
	w.t.Helper()
	if r == nil || !w.ready(r) {
		return false
	}
	n := 1 + w.rng.IntN(8)
	err := w.c.Reserve(w.now, r.id, n)
	switch {
	case err == nil:
		r.room += n
	case !errors.Is(err, kvcache.ErrFull):
		w.t.Fatal(err)
	}
	return err == nil
}

// computed enters tokens of a turn; row has the logits after the last.
func (w *walk) computed(r *turn, to, row int) {
	w.t.Helper()
	w.extend(r.id, r.all[r.read:to])
	r.read = to
	if len(r.plan.Stops) > 0 && r.plan.Stops[0] == to {
		r.plan.Stops = r.plan.Stops[1:]
		if _, err := w.c.Checkpoint(w.now, r.id); err != nil {
			w.t.Fatal(err)
		}
	}
	if to < len(r.all) {
		return
	}
	l, err := w.ctx.Logits(row)
	if err != nil {
		w.t.Fatal(err)
	}
	r.logits = append(r.logits, l...)
}

// finish ends a turn that has said all.
func (w *walk) finish(r *turn) bool {
	w.t.Helper()
	every := 50
	if w.c.Opaque() != nil {
		every = 5 // less of it can be proven otherwise
	}
	w.proofs.holds(w.rig, r.plan.Slot, r.all)
	if w.did.finished++; w.did.finished%every == 1 {
		w.did.compared++
		w.compare("turn", r.all, r.logits)
	}
	r.k.tokens, r.k.marks = r.all, append(slices.Clone(r.k.marks), len(r.all))
	r.k.marks = slices.DeleteFunc(r.k.marks, func(m int) bool { return m > len(r.all) })
	slices.Sort(r.k.marks)
	w.drop(r)
	w.c.Release(w.now, r.id, kvcache.Phase(w.rng.IntN(4)-1))
	return false
}

// leave ends a turn before its time, or gives its sequence up.
func (w *walk) leave(r *turn, distrust bool) {
	if r == nil {
		return
	}
	w.drop(r)
	if distrust {
		w.c.Discard(w.now, r.id)
	} else {
		w.c.Release(w.now, r.id, kvcache.Waiting)
	}
}

func (w *walk) drop(r *turn) {
	w.open = slices.DeleteFunc(w.open, func(x *turn) bool { return x == r })
}

func (w *walk) pin(k *talk) {
	w.t.Helper()
	if len(w.pins) > 1 {
		w.c.Unpin(w.pins[0])
		w.pins = w.pins[1:]
	}
	if len(k.tokens) == 0 {
		return
	}
	id, err := w.c.Pin(w.now, k.tokens[:1+w.rng.IntN(len(k.tokens))])
	if err != nil {
		w.t.Fatal(err)
	}
	w.pins = append(w.pins, id)
}

// spoil damages a file of the disk tier.
func (w *walk) spoil() {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.opt.Disk.Dir, "*", "*.kv"))
	if err != nil || len(files) == 0 {
		return
	}
	w.did.spoiled++
	path := files[w.rng.IntN(len(files))]
	data, err := os.ReadFile(path)
	if err != nil {
		return // dropped meanwhile
	}
	switch w.rng.IntN(4) {
	case 0:
		err = os.Truncate(path, w.rng.Int64N(int64(len(data))))
	case 1:
		err = os.Remove(path)
	default:
		data[w.rng.IntN(len(data))] ^= 1 << w.rng.IntN(8)
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
}

// restart is a new process: nothing is left but what lies complete on disk.
func (w *walk) restart() {
	w.t.Helper()
	w.did.restarts++
	w.close()
	w.boot()
}

func (w *walk) close() {
	w.t.Helper()
	w.recoded += int(w.c.Stats().Recoded)
	for _, n := range w.c.Stats().Refused {
		w.did.refused += n
	}
	w.gone = sum(w.gone, w.c.Tree.Stats().Counts)
	if err := w.c.Close(); err != nil {
		w.t.Fatal(err)
	}
	for seq := range w.ctx.Options().Sequences {
		if err := w.ctx.Remove(seq, engine.All, engine.All); err != nil {
			w.t.Fatal(err)
		}
	}
	w.open, w.pins = nil, nil
}

func sum(a, b kvcache.Counts) kvcache.Counts {
	for i := range a.Requests {
		a.Requests[i] += b.Requests[i]
	}
	a.SavedTokens += b.SavedTokens
	a.ReadTokens += b.ReadTokens
	a.Lost += b.Lost
	a.Declined += b.Declined
	a.Failed += b.Failed
	a.Replanned += b.Replanned
	a.Skipped += b.Skipped
	a.Broken += b.Broken
	return a
}

// end closes and says what was met; a walk that met little proves little.
func (w *walk) end() {
	w.t.Helper()
	disk := w.c.disk != nil
	w.close()
	w.proofs.sharp(w.rig)
	short := *operations < 40_000 // chance decides what is met
	w.t.Logf("%+v; proven %d, at most %.2g apart, others %.2g; logits at most %.2g apart; %+v", w.did, w.proofs.checked,
		w.proofs.far, w.proofs.apart, w.worst, w.gone)
	missing := ""
	for _, tier := range []string{"hot", "ram", "disk"} {
		if w.did.reused[tier] == 0 && (tier != "disk" || disk) {
			missing += " " + tier
		}
	}
	smaller, recoded, lossy := len(w.opt.Disk.Smaller) > 0, w.recoded > 0, w.lossy > 0
	if !smaller && (recoded || lossy) || !short && smaller && !(recoded && lossy) {
		w.t.Errorf("%d states were coded anew, %d turns went on from a loss; that they may: %v", w.recoded, w.lossy, smaller)
	}
	if !short && missing != "" || w.did.compared == 0 {
		w.t.Errorf("never reused from:%s; compared %d times", missing, w.did.compared)
	}
}
