// Package sample draws the next token of one request from a row of logits, and
// says how probable tokens are in it.
//
// It owns the order and meaning of the sampling steps, the random number
// generator of a request, what the request remembers of its tokens, and the
// buffers all that needs. It does not own the logits: a row is borrowed for the
// length of one call, only read, and never kept. It knows nothing of the engine
// that made the row, and of the model's vocabulary only what [Vocabulary] says.
//
// # Steps
//
// The steps and their order are those of llama.cpp's default chain
// (common_sampler_init in common/sampling.cpp and common_params_sampling in
// common/common.h of v0.5.0): logit bias, penalties, DRY, top_k, typical, top_p,
// min_p, XTC, temperature, draw. So every cut looks at the probabilities at
// temperature 1 of what the steps before left; the temperature only shapes the
// draw among the survivors. At temperature 0 the likeliest survivor is taken.
// With mirostat the chain is logit bias, penalties, DRY, temperature, mirostat.
//
// What a request does not use costs it nothing: greedy decoding without changed
// logits is one search for the largest.
//
// # The cut
//
// top_k always cuts to a finite number of candidates, because everything after
// it costs time per candidate: a top_p over a vocabulary of 248,000 is more than
// ten times as slow as over 40. TopK 0 therefore means [DefaultTopK], and
// [MaxTopK] is the most a request may ask for. A cut is a pure function from a
// slice of candidates, sorted by falling logit, to a shorter one in the same
// order (see keepTopP).
//
// Mirostat looks at the whole vocabulary in llama.cpp. Here its probabilities
// are those of the whole row too, but at most the MaxTopK likeliest tokens
// survive. Version 2 starts at a bound of 2*tau bits, 10 by default, which no
// more than 1,024 tokens can keep; only where the bound has risen over a flat
// row is the tail cut.
//
// # Constraints
//
// A [Constraint] excludes tokens as if their logits were -Inf, before all cuts. The
// likeliest are asked about one by one; only where too few of them are allowed is the
// constraint asked for all. With mirostat the probabilities are then those among the
// allowed candidates.
//
// # Changed logits
//
// Bias, penalties and DRY change the logits of few tokens. The row is not
// copied for them: the search for the best keeps those tokens out, and they join
// at its end with their own logits (see ranking). The penalties count their
// window as it slides. DRY makes one pass over its window for each token,
// linear whatever repeats: below 0.1 ms for a text of 32,768 tokens and about
// 0.8 ms for 262,144 (BenchmarkDRY). Breakers are noticed when they are
// accepted. All of it is bounded by the windows, at most [MaxHistory] tokens.
//
// # Where it differs from llama.cpp
//
//   - The cut of top_k and mirostat, above. top_n_sigma, dynamic temperature and
//     adaptive-p, which are off by default there, do not exist here.
//   - A bias of -100 and below bans, as OpenAI has it; there it is a number.
//   - With mirostat, penalties and DRY still act; there they are dropped without
//     a word.
//   - LastN 0 of DRY is the whole context; there the default is 64.
//   - A probability too small for float32 is still one here. There the entropy
//     that typical needs is NaN then, and mirostat 1 keeps one token only.
//   - A breaker of DRY that is too long is refused, not cut; a token's own bytes
//     decide where it occurs, also where detokenising one token would strip a
//     space.
//   - Tokens that a model's file wants suppressed (tokenizer.ggml.suppress_tokens)
//     are the caller's to ban by LogitBias.
//   - The random numbers are others, so that a seed gives another text.
//
// # Use
//
// New, then Prompt with the tokens in front of the answer, then by turns Sample
// and Accept. A Sampler is used by one goroutine at a time. Samplers of
// different requests are independent and may run in parallel over different
// rows. Package llm is the user; anything of inference may be.
package sample
