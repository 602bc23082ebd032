package openai

import (
	"maps"
	"slices"
	"strconv"
)

// refusedFields are what other servers of this API have, llama-server and vLLM
// above all, and this one does not, where an answer without them would be
// another one. They are refused on every route that takes messages or a prompt,
// but for the values that ask for nothing, so that no client takes a warning for
// an answer in its grammar.
func refusedFields[R any]() fields[R] {
	all := fields[R]{
		"grammar":               only[R](`""`, isText("")),
		"chat_template":         only[R](`""`, isText("")),
		"input_prefix":          only[R](`""`, isText("")),
		"input_suffix":          only[R](`""`, isText("")),
		"chat_template_kwargs":  only[R]("{}", (*decoder).isEmpty),
		"cache_prompt":          only[R]("true", isTrue),
		"skip_special_tokens":   only[R]("true", isTrue),
		"add_generation_prompt": only[R]("true", isTrue),
		// These are off at other values than 0.
		"top_n_sigma":      only[R]("-1", isNumber(-1, 0)),
		"t_max_predict_ms": only[R]("0", isNumber(-1, 0)),
		"tfs_z":            only[R]("1", isNumber(1)),
		"length_penalty":   only[R]("1", isNumber(1)),
		// The same under another name, which this server has.
		"n_predict":          instead[R]("max_tokens", never),
		"repetition_penalty": instead[R]("repeat_penalty", isNumber(1)),
		"n_probs":            instead[R]("logprobs", isNumber(0)),
		"id_slot":            instead[R]("session", isNumber(-1)),
		"slot_id":            instead[R]("session", isNumber(-1)),
	}
	for _, name := range []string{
		"json_schema", "json_object",
		"guided_json", "guided_regex", "guided_choice", "guided_grammar", "structural_tag", "structured_outputs",
		"samplers", "allowed_token_ids", "add_special_tokens", "logits_processors", "truncate_prompt_tokens", "prompt_logprobs", "penalty_prompt",
		"cache_salt", "kv_transfer_params", "session_params",
	} {
		all[name] = only[R]("null", never)
	}
	for _, name := range []string{
		"lora", "image_data", "documents", "response_fields", "grammar_triggers", "stop_token_ids", "bad_words",
	} {
		all[name] = only[R]("[]", (*decoder).isEmpty)
	}
	for _, name := range []string{
		"grammar_lazy", "continue_final_message", "use_beam_search", "include_stop_str_in_output", "penalize_nl",
		"return_tokens", "return_progress", "timings_per_token", "post_sampling_probs",
	} {
		all[name] = only[R]("false", isFalse)
	}
	for _, name := range []string{
		"n_cache_reuse", "dynatemp_range", "min_keep", "min_tokens", "n_indent",
	} {
		all[name] = only[R]("0", isNumber(0))
	}
	return all
}

// instead is a field that has another name here.
func instead[R any](name string, neutral func(d *decoder, t token) bool) field[R] {
	return func(d *decoder, _ *R, t token) error {
		if neutral(d, t) {
			return nil
		}
		return d.unsupported("not supported under this name; send %s", name)
	}
}

func isTrue(_ *decoder, t token) bool { return t.kind == kindTrue }

func isNumber(want ...float64) func(*decoder, token) bool {
	return func(_ *decoder, t token) bool {
		if t.kind != kindNumber {
			return false
		}
		got, err := strconv.ParseFloat(string(t.raw), 64)
		return err == nil && slices.Contains(want, got)
	}
}

// joined returns what is in either; where both know a field, more stands.
func joined[R any](base, more fields[R]) fields[R] {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}
