package responder

import (
	"strings"

	"dure/audio/turn"
	"dure/inference"
)

// manner is what a model must know to be spoken.
const manner = "You are heard, not read: your words are spoken by a speech engine. Answer in one to three short sentences of plain words, in the language of the person. No lists, no headings, no code, no emoji."

// cut marks where the person stopped listening.
const cut = " [the person interrupted here]"

// unverified stands behind what a model claimed without a fact of the team.
const unverified = " [not verified with the team]"

// Messages is the conversation that a turn ends, as a model is told it.
func Messages(r turn.Request) []inference.Message {
	system := strings.TrimSpace(r.Instructions)
	if !r.TextOnly {
		system = strings.TrimSpace(manner + "\n\n" + system)
	}
	var out []inference.Message
	if system != "" {
		out = append(out, inference.Message{Role: inference.RoleSystem, Content: system})
	}
	names := map[string]string{} // of the tools that were called, by call
	for i := range r.History {
		out = appendItem(out, &r.History[i], names)
	}
	if r.Idle {
		out = append(out, inference.Message{Role: inference.RoleUser, Content: "[the person has been silent for a while]"})
	}
	return out
}

func appendItem(out []inference.Message, item *turn.Item, names map[string]string) []inference.Message {
	switch item.Kind {
	case turn.FunctionCall:
		names[item.CallID] = item.Name
		call := inference.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments}
		// The calls of one answer belong to one message.
		if last := len(out) - 1; last >= 0 && out[last].Role == inference.RoleAssistant {
			out[last].ToolCalls = append(out[last].ToolCalls, call)
			return out
		}
		return append(out, inference.Message{Role: inference.RoleAssistant, ToolCalls: []inference.ToolCall{call}})
	case turn.FunctionOutput:
		return append(out, inference.Message{Role: inference.RoleTool, Content: item.Output, ToolCallID: item.CallID, Name: names[item.CallID]})
	}
	text := item.Text()
	for _, p := range item.Parts {
		if p.Cut {
			text += cut
			break
		}
	}
	if strings.TrimSpace(text) == "" {
		return out
	}
	if item.Unverified {
		text += unverified
	}
	// Two utterances in a row are one message: templates want the roles to alternate.
	if last := len(out) - 1; last >= 0 && out[last].Role == item.Role && item.Role == turn.User {
		out[last].Content += "\n" + text
		return out
	}
	return append(out, inference.Message{Role: item.Role, Content: text})
}
