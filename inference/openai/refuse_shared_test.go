package openai

import (
	"fmt"
	"strings"

	"dure/inference"
	"dure/inference/sample"
)

// refusedShared are members that both routes refuse.
func refusedShared() []refusedBody {
	const bad = inference.CodeInvalidRequest
	var biases []string
	for i := range maxBiases + 1 {
		biases = append(biases, fmt.Sprintf(`"%d":1`, i))
	}
	all := []refusedBody{
		{`"n":0`, bad, "n", "between 1 and 128"},
		{`"n":-0`, bad, "n", "between 1 and 128, not -0"},
		{`"n":129`, bad, "n", "between 1 and 128"},
		{`"n":1.0`, bad, "n", "expected an integer, got 1.0"},
		{`"n":1e999`, bad, "n", "expected an integer, got 1e999"},
		{`"n":true`, bad, "n", "expected an integer, got a boolean"},
		{`"logit_bias":[]`, bad, "logit_bias", "expected an object, got a list"},
		{`"logit_bias":{"a":1}`, bad, "logit_bias.a", "must be a token"},
		{`"logit_bias":{"":1}`, bad, "logit_bias.", "must be a token"},
		{`"logit_bias":{"-1":1}`, bad, "logit_bias.-1", "must be a token"},
		{`"logit_bias":{"01":1}`, bad, "logit_bias.01", "must be a token"},
		{`"logit_bias":{"+1":1}`, bad, "logit_bias.+1", "must be a token"},
		{`"logit_bias":{"2147483648":1}`, bad, "logit_bias.2147483648", "must be a token"},
		{`"logit_bias":{"\u0000":1}`, bad, "logit_bias.\x00", "must be a token"},
		{`"logit_bias":{"\ud800":1}`, bad, "logit_bias.\ufffd", "must be a token"},
		{`"logit_bias":{"5":1,"5":2}`, bad, "logit_bias.5", "twice"},
		{`"logit_bias":{"5":100.5}`, bad, "logit_bias.5", "between -100 and 100, not 100.5"},
		{`"logit_bias":{"5":-1e999}`, bad, "logit_bias.5", "between -100 and 100"},
		{`"logit_bias":{"5":"1"}`, bad, "logit_bias.5", "expected a number, got a string"},
		{`"logit_bias":{"5":null}`, bad, "logit_bias.5", "expected a number, got null"},
		{`"logit_bias":{` + strings.Join(biases, ",") + `}`, bad, "logit_bias", "at most 1024 members"},
		{`"dry_sequence_breakers":"x"`, bad, "dry_sequence_breakers", "expected a list of strings, got a string"},
		{`"dry_sequence_breakers":[]`, bad, "dry_sequence_breakers", "at least one string"},
		{`"dry_sequence_breakers":["a",5]`, bad, "dry_sequence_breakers[1]", "expected a string"},
		{`"dry_sequence_breakers":[""]`, bad, "dry_sequence_breakers[0]", "1 to 40 bytes"},
		{`"dry_sequence_breakers":["` + strings.Repeat("x", sample.MaxBreakerBytes+1) + `"]`, bad, "dry_sequence_breakers[0]", "1 to 40 bytes here, not 41"},
		{`"dry_sequence_breakers":["\u0000"]`, bad, "dry_sequence_breakers[0]", "NUL"},
		{`"dry_sequence_breakers":["\udc00"]`, bad, "dry_sequence_breakers[0]", "surrogate"},
		{`"dry_sequence_breakers":[` + strings.Repeat(`"x",`, 32) + `"x"]`, bad, "dry_sequence_breakers[32]", "at most 32"},
		{`"repeat_penalty":0`, bad, "repeat_penalty", "above 0 and at most 100, not 0"},
		{`"repeat_penalty":1e-60`, bad, "repeat_penalty", "above 0"},
		{`"repeat_penalty":1e999`, bad, "repeat_penalty", "above 0 and at most 100, not 1e999"},
		{`"mirostat_tau":0`, bad, "mirostat_tau", "above 0"},
		{`"mirostat_eta":1.5`, bad, "mirostat_eta", "above 0 and at most 1"},
		{`"mirostat":3`, bad, "mirostat", "between 0 and 2"},
		{`"stop":"\ud800"`, bad, "stop", "surrogate"},
	}
	for name, limits := range map[string][2]string{
		"frequency_penalty": {"-2.1", "2.1"}, "presence_penalty": {"-3", "1e999"}, "typical_p": {"-0.1", "1.1"},
		"dry_multiplier": {"-1", "101"}, "dry_base": {"0.5", "101"}, "xtc_probability": {"-1", "1.01"}, "xtc_threshold": {"-1", "2"},
	} {
		for _, value := range limits {
			all = append(all, refusedBody{`"` + name + `":` + value, bad, name, "must be between"})
		}
		all = append(all, refusedBody{`"` + name + `":"1"`, bad, name, "expected a number, got a string"})
	}
	for name, limits := range map[string][2]string{
		"repeat_last_n": {"-2", "2147483648"}, "dry_allowed_length": {"0", "2147483648"}, "dry_penalty_last_n": {"-2", "9e9"}, "mirostat": {"-1", "1.0"},
	} {
		for _, value := range limits {
			all = append(all, refusedBody{`"` + name + `":` + value, bad, name, ""})
		}
		all = append(all, refusedBody{`"` + name + `":[]`, bad, name, "expected an integer, got a list"})
	}
	return all
}

// refusedTexts are bodies of text completions.
func refusedTexts() []refusedBody {
	const bad, unsupported = inference.CodeInvalidRequest, inference.CodeUnsupported
	prompt := func(p string) string { return `{"prompt":` + p + `}` }
	more := func(m string) string { return `{"prompt":"a",` + m + `}` }
	return []refusedBody{
		{`{}`, bad, "prompt", "prompt: is required"},
		{prompt(`null`), bad, "prompt", "is required"},
		{prompt(`5`), bad, "prompt", "expected a string, a list of strings, or tokens, got a number"},
		{prompt(`{}`), bad, "prompt", "got an object"},
		{prompt(`[]`), bad, "prompt", "at least one prompt"},
		{prompt(`[[]]`), bad, "prompt[0]", "at least one token"},
		{prompt(`[[1],[]]`), bad, "prompt[1]", "at least one token"},
		{prompt(`["a",1]`), bad, "prompt[1]", "expected a string like the first prompt, got a number"},
		{prompt(`["a",[1]]`), bad, "prompt[1]", "expected a string like the first prompt, got a list"},
		{prompt(`[[1],"a"]`), bad, "prompt[1]", "expected a list like the first prompt, got a string"},
		{prompt(`[1,"a"]`), bad, "prompt[1]", "expected an integer, got a string"},
		{prompt(`[1,-1]`), bad, "prompt[1]", "between 0"},
		{prompt(`[-0.5]`), bad, "prompt[0]", "expected an integer"},
		{prompt(`[1.0]`), bad, "prompt[0]", "expected an integer, got 1.0"},
		{prompt(`[2147483648]`), bad, "prompt[0]", "between 0 and 2147483647"},
		{prompt(`[[1,1e999]]`), bad, "prompt[0][1]", "expected an integer"},
		{prompt(`[null]`), bad, "prompt[0]", "expected a string, a token, or a list of tokens, got null"},
		{prompt(`[{}]`), bad, "prompt[0]", "got an object"},
		{prompt(`"a\u0000"`), bad, "prompt", "NUL"},
		{prompt(`["a","\ud800"]`), bad, "prompt[1]", "surrogate"},
		{prompt(`[` + strings.Repeat(`"a",`, 128) + `"a"]`), bad, "prompt[128]", "at most 128 prompts"},
		{`{"prompt":["a","b","c"],"n":43}`, bad, "n", "129 answers; one request may ask for 128"},
		{more(`"n":2,"best_of":1`), unsupported, "best_of", "set it to n (2)"},
		{more(`"best_of":3`), unsupported, "best_of", "set it to n (1)"},
		{more(`"best_of":0`), bad, "best_of", "between 1"},
		{more(`"suffix":"b"`), unsupported, "suffix", "leave it out"},
		{more(`"suffix":5`), unsupported, "suffix", "leave it out"},
		{more(`"echo":1`), bad, "echo", "expected true or false"},
		{more(`"echo":true,"logprobs":0`), unsupported, "echo", "together with logprobs"},
		{more(`"logprobs":21`), bad, "logprobs", "between 0 and 20"},
		{more(`"logprobs":true`), bad, "logprobs", "expected an integer, got a boolean"},
		{more(`"max_tokens":0`), bad, "max_tokens", "at least 1"},
		{more(`"stream_options":{}`), bad, "stream_options", "only allowed when stream"},
	}
}
