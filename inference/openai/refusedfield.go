package openai

import "dure/inference/front/strict"

// refusedFields are what other servers of this API have, llama-server and vLLM
// above all, and this one does not, where an answer without them would be
// another one. They are refused on every route that takes messages or a prompt,
// but for the values that ask for nothing, so that no client takes a warning for
// an answer in its grammar.
func refusedFields[R any]() strict.Fields[R] {
	all := strict.Fields[R]{
		"grammar":               strict.Only[R](`""`, strict.IsText("")),
		"chat_template":         strict.Only[R](`""`, strict.IsText("")),
		"input_prefix":          strict.Only[R](`""`, strict.IsText("")),
		"input_suffix":          strict.Only[R](`""`, strict.IsText("")),
		"chat_template_kwargs":  strict.Only[R]("{}", (*strict.Decoder).IsEmpty),
		"cache_prompt":          strict.Only[R]("true", strict.IsTrue),
		"skip_special_tokens":   strict.Only[R]("true", strict.IsTrue),
		"add_generation_prompt": strict.Only[R]("true", strict.IsTrue),
		// These are off at other values than 0.
		"top_n_sigma":      strict.Only[R]("-1", strict.IsNumber(-1, 0)),
		"t_max_predict_ms": strict.Only[R]("0", strict.IsNumber(-1, 0)),
		"tfs_z":            strict.Only[R]("1", strict.IsNumber(1)),
		"length_penalty":   strict.Only[R]("1", strict.IsNumber(1)),
		// The same under another name, which this server has.
		"n_predict":          strict.Instead[R]("max_tokens", strict.Never),
		"repetition_penalty": strict.Instead[R]("repeat_penalty", strict.IsNumber(1)),
		"n_probs":            strict.Instead[R]("logprobs", strict.IsNumber(0)),
		"id_slot":            strict.Instead[R]("session", strict.IsNumber(-1)),
		"slot_id":            strict.Instead[R]("session", strict.IsNumber(-1)),
	}
	for _, name := range []string{
		"json_schema", "json_object",
		"guided_json", "guided_regex", "guided_choice", "guided_grammar", "structural_tag", "structured_outputs",
		"samplers", "allowed_token_ids", "add_special_tokens", "logits_processors", "truncate_prompt_tokens", "prompt_logprobs", "penalty_prompt",
		"cache_salt", "kv_transfer_params", "session_params",
	} {
		all[name] = strict.Only[R]("null", strict.Never)
	}
	for _, name := range []string{
		"lora", "image_data", "documents", "response_fields", "grammar_triggers", "stop_token_ids", "bad_words",
	} {
		all[name] = strict.Only[R]("[]", (*strict.Decoder).IsEmpty)
	}
	for _, name := range []string{
		"grammar_lazy", "continue_final_message", "use_beam_search", "include_stop_str_in_output", "penalize_nl",
		"return_tokens", "return_progress", "timings_per_token", "post_sampling_probs",
	} {
		all[name] = strict.Only[R]("false", strict.IsFalse)
	}
	for _, name := range []string{
		"n_cache_reuse", "dynatemp_range", "min_keep", "min_tokens", "n_indent",
	} {
		all[name] = strict.Only[R]("0", strict.IsNumber(0))
	}
	return all
}
