package kv

import (
	"slices"

	"dure/gguf"
)

// Schema is the form of a Report; it goes up when a field changes its meaning.
const Schema = 1

// Report is what a run is told as.
type Report struct {
	Schema int `json:"schema"`
	// Subject is filled by the caller.
	Subject Subject `json:"subject"`
	// What was asked for.
	Seed        uint64 `json:"seed"`
	Follow      int    `json:"follow"`
	Lengths     []int  `json:"lengths"`
	Kinds       []Kind `json:"kinds"`
	TaskLengths []int  `json:"task_lengths"`
	// Units measured, of those asked for.
	Units int   `json:"units"`
	Of    int   `json:"of"`
	Bound Bound `json:"bound"`
	// BytesPerToken of the f16 cache.
	BytesPerToken float64  `json:"bytes_per_token"`
	Results       []Result `json:"results"`
	// Samples and Replies are what the results are made of.
	Samples []Sample `json:"samples,omitempty"`
	Replies []Reply  `json:"replies,omitempty"`
}

// Subject is what was measured on what.
type Subject struct {
	Dure        string `json:"dure"`
	Engine      string `json:"engine"`
	Model       string `json:"model"`
	Fingerprint string `json:"fingerprint"` // gguf.Model.Fingerprint, hexadecimal
	Synthetic   bool   `json:"synthetic,omitempty"`
}

// Result is what a setting costs and saves.
type Result struct {
	Setting  string   `json:"setting"`
	Tier     Tier     `json:"tier"`
	Rotation Rotation `json:"rotation"`
	// Codec tells the coding of a parked class from earlier and other ones; filled by
	// the caller.
	Codec string `json:"codec,omitempty"`
	// BytesPerToken of the cells, or of a state that waits, at the longest context;
	// Ratio is how many times less that is than f16.
	BytesPerToken float64 `json:"bytes_per_token"`
	Ratio         float64 `json:"ratio"`
	Loss
	// ByLength and ByKind are the same for parts of the contexts.
	ByLength []Part `json:"by_length"`
	ByKind   []Part `json:"by_kind"`
	// Repeat is how much less likely, in nats a token, pieces of the context become when
	// they are written again; positive is a loss.
	Repeat Interval   `json:"repeat_loss"`
	Tasks  []TaskLoss `json:"tasks"`
	// Needles are those of the task by length and depth.
	Needles []NeedleLoss `json:"needles,omitempty"`
	// EncodeMBs and DecodeMBs are megabytes of f16 a second, of a parked class.
	EncodeMBs float64 `json:"encode_mb_s,omitempty"`
	DecodeMBs float64 `json:"decode_mb_s,omitempty"`
	Verdict   Verdict `json:"verdict"`
	Why       string  `json:"why,omitempty"`
}

// Loss is what becomes of the next token's distribution. Intervals are over texts,
// since tokens of one text resemble each other.
type Loss struct {
	Mean Interval `json:"kld_mean"`
	Tail Interval `json:"kld_999"`
	Max  float64  `json:"kld_max"`
	Top  Interval `json:"top1"`
	// Surprise is how much the mean logarithm of the probability of the texts' own
	// tokens falls, in nats a token.
	Surprise float64 `json:"logprob_loss"`
	Contexts int     `json:"contexts"`
	Rows     int     `json:"rows"`
	Broken   int     `json:"broken,omitempty"`
}

// Part is the loss of some of the contexts.
type Part struct {
	Length int  `json:"length,omitempty"`
	Kind   Kind `json:"kind,omitempty"`
	Loss
}

// TaskLoss is what becomes of a task.
type TaskLoss struct {
	Task   Task `json:"task"`
	Length int  `json:"length,omitempty"` // 0: all
	// Questions that were asked; Full are solved by the full cache, Solved by the
	// setting, Kept by both.
	Questions int `json:"questions"`
	Full      int `json:"full"`
	Solved    int `json:"solved"`
	Kept      int `json:"kept"`
	// Retention is Kept of Full.
	Retention Interval `json:"retention"`
	// FullFound and Found are the mean shares of the wanted parts; Logprob is how much
	// less likely the right answers become, in nats a token.
	FullFound float64 `json:"full_found"`
	Found     float64 `json:"found"`
	Logprob   float64 `json:"logprob_loss"`
}

// NeedleLoss is what becomes of needles at one depth of documents of one length.
type NeedleLoss struct {
	Depth float64 `json:"depth"`
	TaskLoss
}

// AllTasks stands for them together.
const AllTasks Task = "all"

// NewReport makes a report of an outcome. rotated tells how the engine turns what it
// stores in two types.
func NewReport(opt Options, out Outcome, bound Bound, rotated func(keys, values gguf.TensorType) Rotation) Report {
	r := Report{Schema: Schema, Seed: opt.Seed, Follow: opt.Follow, Lengths: opt.Lengths, Kinds: opt.Kinds, TaskLengths: opt.TaskLengths,
		Units: out.Units, Of: out.Of, Bound: bound, Samples: slices.Clone(out.Samples), Replies: out.Replies}
	for i := range r.Samples {
		r.Samples[i].Divergence = nil // long, and summed up
	}
	full, _ := opt.Geometry.KV(gguf.F16, gguf.F16)
	r.BytesPerToken = float64(full.Total())
	for _, s := range opt.Settings {
		samples := filter(out.Samples, func(x Sample) bool { return x.Setting == s.Name })
		replies := filter(out.Replies, func(x Reply) bool { return x.Setting == s.Name })
		if len(samples)+len(replies) == 0 {
			continue // there was no time for it
		}
		x := Result{Setting: s.Name, Tier: s.Tier, Loss: lossOf(samples), Repeat: repeatOf(samples), Tasks: tasksOf(replies), Needles: needlesOf(replies)}
		for _, n := range keysOf(samples, func(x Sample) int { return x.Length }) {
			x.ByLength = append(x.ByLength, Part{Length: n, Loss: lossOf(filter(samples, func(s Sample) bool { return s.Length == n }))})
		}
		for _, k := range keysOf(samples, func(x Sample) Kind { return x.Kind }) {
			x.ByKind = append(x.ByKind, Part{Kind: k, Loss: lossOf(filter(samples, func(s Sample) bool { return s.Kind == k }))})
		}
		if s.Tier == Hot {
			cost, _ := opt.Geometry.KV(s.Keys, s.Values)
			x.BytesPerToken = float64(cost.Total())
			x.Rotation = rotated(s.Keys, s.Values)
			if x.BytesPerToken > 0 {
				x.Ratio = r.BytesPerToken / x.BytesPerToken
			}
		} else {
			x.parkedSizes(samples)
		}
		r.Results = append(r.Results, x)
	}
	r.judge(opt.Settings, bound)
	return r
}

// judge gives the verdicts, when all that is compared is there.
func (r *Report) judge(settings []Setting, bound Bound) {
	beside := map[string]bool{}
	for _, s := range settings {
		beside[s.Name] = s.Beside
	}
	var cells Known
	for _, x := range r.Results {
		if x.Tier == Hot && x.Setting == CellsBeside {
			cells = Known{Measured: x.Rows > 0, Figures: x.figures()}
		}
	}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Verdict, x.Why = bound.Judge(x.figures()); beside[x.Setting] {
			x.Verdict, x.Why = bound.JudgeBeside(x.figures(), cells)
		}
	}
}

func (x *Result) figures() Figures {
	return Figures{Mean: x.Mean.Value, Top: x.Top.Value, Rows: x.Rows, Broken: x.Broken}
}

// Unjudged takes the verdicts away: the weights are random, and losses mean nothing.
func (r *Report) Unjudged() {
	for i := range r.Results {
		r.Results[i].Verdict, r.Results[i].Why = NotJudged, ""
	}
}

// parkedSizes are those at the longest context, and speeds over all.
func (x *Result) parkedSizes(samples []Sample) {
	longest := 0
	for _, s := range samples {
		longest = max(longest, s.Length)
	}
	var raw, coded, tokens, all, encode, decode float64
	for _, s := range samples {
		all, encode, decode = all+float64(s.StateBytes), encode+s.EncodeMS, decode+s.DecodeMS
		if s.Length == longest {
			raw, coded, tokens = raw+float64(s.StateBytes), coded+float64(s.CodedBytes), tokens+float64(s.Length)
		}
	}
	if tokens > 0 && coded > 0 {
		x.BytesPerToken, x.Ratio = coded/tokens, raw/coded
	}
	if encode > 0 && decode > 0 {
		x.EncodeMBs, x.DecodeMBs = all/encode/1000, all/decode/1000
	}
}
