package sample

import (
	"math"

	"dure/inference"
)

// Bounds on what a request may ask for, so that no request costs more memory or
// time than its context justifies.
const (
	// MaxLogitBias is the most tokens that may be biased.
	MaxLogitBias = 4096
	// MaxHistory is the most tokens that penalties and DRY can look back; it is
	// also what "the whole context" (LastN -1) means at most.
	MaxHistory = 1 << 20
	// MaxBreakers is the most breakers that DRY may have, and MaxBreakerBytes
	// the length of each.
	MaxBreakers     = 32
	MaxBreakerBytes = 40
)

// maxPenalty is OpenAI's bound on frequency and presence penalties.
const maxPenalty = 2

// validate refuses what has no meaning. The names of the fields are OpenAI's
// and llama-server's. Checks are written so that NaN fails them.
func validate(p inference.Params, vocabulary int) error {
	return first(
		validateShape(p),
		validateBias(p.LogitBias, vocabulary),
		validatePenalties(p.Penalties),
		validateDRY(p.DRY),
		validateRest(p),
	)
}

func refuse(param, format string, args ...any) error {
	err := inference.Errorf(inference.CodeInvalidRequest, format, args...)
	err.Param = param
	return err
}

func finite(x float32) bool { return !math.IsInf(float64(x), 0) && x == x }

// share refuses what is not a probability.
func share(param string, x float32) error {
	if !(x >= 0 && x <= 1) {
		return refuse(param, "%s must be between 0 and 1, not %v", param, x)
	}
	return nil
}

// positive refuses what is not a finite number of at least 0.
func positive(param string, x float32) error {
	if !(x >= 0) || !finite(x) {
		return refuse(param, "%s must be a finite number of at least 0, not %v", param, x)
	}
	return nil
}

// lookBack refuses what is not a number of tokens.
func lookBack(param string, n int) error {
	if n < -1 || n > MaxHistory {
		return refuse(param, "%s must be -1 (the whole context) or a number of tokens up to %d, not %d", param, MaxHistory, n)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// validateShape checks the steps that shape the distribution.
func validateShape(p inference.Params) error {
	if p.TopK < 0 || p.TopK > MaxTopK {
		return refuse("top_k", "top_k must be between 0 (the default, %d) and %d, not %d", DefaultTopK, MaxTopK, p.TopK)
	}
	return first(
		positive("temperature", p.Temperature),
		share("top_p", p.TopP),
		share("min_p", p.MinP),
		share("typical_p", p.TypicalP),
		share("xtc_probability", p.XTC.Probability),
		share("xtc_threshold", p.XTC.Threshold),
	)
}

func validateBias(bias []inference.TokenBias, vocabulary int) error {
	if len(bias) > MaxLogitBias {
		return refuse("logit_bias", "logit_bias has %d tokens, at most %d are possible", len(bias), MaxLogitBias)
	}
	seen := make(map[int32]bool, len(bias))
	for _, b := range bias {
		switch {
		case b.Token < 0 || int(b.Token) >= vocabulary:
			return refuse("logit_bias", "logit_bias names token %d; the model's tokens are 0 to %d", b.Token, vocabulary-1)
		case b.Bias != b.Bias || b.Bias > math.MaxFloat32:
			return refuse("logit_bias", "logit_bias of token %d must be a finite number, or -100 and below to ban it, not %v", b.Token, b.Bias)
		case seen[b.Token]:
			return refuse("logit_bias", "logit_bias names token %d twice", b.Token)
		}
		seen[b.Token] = true
	}
	return nil
}

func validatePenalties(p inference.Penalties) error {
	bound := func(param string, x float32) error {
		if !(x >= -maxPenalty && x <= maxPenalty) {
			return refuse(param, "%s must be between -%d and %d, not %v", param, maxPenalty, maxPenalty, x)
		}
		return nil
	}
	if err := positive("repeat_penalty", p.Repeat); err != nil {
		return err
	}
	if p.Repeat > 0 && !finite(1/p.Repeat) {
		return refuse("repeat_penalty", "repeat_penalty %v is too near to 0", p.Repeat)
	}
	return first(
		bound("frequency_penalty", p.Frequency),
		bound("presence_penalty", p.Presence),
		lookBack("repeat_last_n", p.LastN),
	)
}

func validateDRY(d inference.DRY) error {
	switch {
	case d.Base != 0 && !(d.Base >= 1 && finite(d.Base)):
		return refuse("dry_base", "dry_base must be a finite number of at least 1, not %v", d.Base)
	case d.AllowedLength < 0:
		return refuse("dry_allowed_length", "dry_allowed_length must be at least 1 (or 0, the default, %d), not %d", defaultAllowedLength, d.AllowedLength)
	case len(d.Breakers) > MaxBreakers:
		return refuse("dry_sequence_breakers", "dry_sequence_breakers has %d strings, at most %d are possible", len(d.Breakers), MaxBreakers)
	}
	for i, b := range d.Breakers {
		if b == "" || len(b) > MaxBreakerBytes {
			return refuse("dry_sequence_breakers", "dry_sequence_breakers[%d] has %d bytes, 1 to %d are possible", i, len(b), MaxBreakerBytes)
		}
	}
	return first(
		positive("dry_multiplier", d.Multiplier),
		lookBack("dry_penalty_last_n", d.LastN),
	)
}

func validateRest(p inference.Params) error {
	switch {
	case p.Mirostat.Version < 0 || p.Mirostat.Version > 2:
		return refuse("mirostat", "mirostat must be 0 (off), 1 or 2, not %d", p.Mirostat.Version)
	case p.TopLogprobs < 0 || p.TopLogprobs > inference.MaxTopLogprobs:
		return refuse("top_logprobs", "top_logprobs must be between 0 and %d, not %d", inference.MaxTopLogprobs, p.TopLogprobs)
	case p.TopLogprobs > 0 && !p.Logprobs:
		return refuse("top_logprobs", "top_logprobs needs logprobs to be true")
	}
	return first(
		positive("mirostat_tau", p.Mirostat.Tau),
		positive("mirostat_eta", p.Mirostat.Eta),
	)
}
