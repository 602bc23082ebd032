// Package sample draws the next token of one request from a row of logits.
//
// It owns the order of the sampling steps, the random number generator of a
// request and the small buffer both need. It does not own the logits: a row is
// borrowed for the length of one call, read once or twice, never changed and
// never kept. It knows nothing of tokens' text, of the vocabulary's size or of
// the engine that made the row.
//
// The steps and their order are those of llama.cpp's default chain as far as
// they exist here (common_params_sampling.samplers in common/common.h of
// v0.5.0): top_k, top_p, min_p, temperature, draw. So top_p and min_p look at
// the probabilities at temperature 1 of the tokens that top_k left; the
// temperature only shapes the draw among the survivors.
//
// The first step always cuts to a finite number of candidates, because
// everything after it costs time per candidate: a top_p over a vocabulary of
// 248,000 is more than ten times as slow as over 40. TopK 0 therefore means
// [DefaultTopK], and [MaxTopK] is the most a request may ask for.
//
// A step is a pure function from a slice of candidates, sorted by falling
// logit, to a shorter one (see keepTopP). Steps that look only at candidates
// (typical, XTC, mirostat) are further such functions. Steps that change the
// logits of particular tokens (bias, repetition penalties, DRY) change few of
// them, m say, and fit in without touching the borrowed row: collect the best
// k+m of the row, add the m changed ones with their new values, sort, cut to k.
//
// A Sampler is used by one goroutine at a time. Samplers of different requests
// are independent and may run in parallel over different rows.
package sample
