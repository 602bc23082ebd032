package scripted

import "dure/inference"

// Account adds up the usage of answers that were given whole.
type Account struct {
	Answers    int
	Prompt     int
	Cached     int // of Prompt
	Completion int
	Reasoning  int // of Completion
}

func (a Account) plus(u inference.Usage) Account {
	return Account{
		Answers: a.Answers + 1, Prompt: a.Prompt + u.PromptTokens, Cached: a.Cached + u.CachedTokens,
		Completion: a.Completion + u.CompletionTokens, Reasoning: a.Reasoning + u.ReasoningTokens,
	}
}
