package wire

import (
	"encoding/json"

	"dure/audio"
	"dure/audio/turn"
	"dure/inference"
)

// JSON is the session object as session.created and a client secret have it.
func (s Session) JSON() json.RawMessage {
	b, _ := json.Marshal(encodeSession(s))
	return b
}

func encodeSession(s Session) fields {
	c := s.Config
	input := fields{"format": encodeFormat(c.Input), "noise_reduction": nil, "transcription": encodeTranscription(c.Transcription), "turn_detection": encodeDetection(c.Detection)}
	f := fields{"id": s.ID, "object": "realtime.session", "type": "realtime", "include": nil}
	if s.ExpiresAt != 0 {
		f["expires_at"] = s.ExpiresAt
	}
	if c.TranscriptionOnly {
		f["type"], f["object"] = "transcription", "realtime.transcription_session"
		f["audio"] = fields{"input": input}
		return f
	}
	f["audio"] = fields{"input": input, "output": fields{"format": encodeFormat(c.Output), "voice": c.Voice, "speed": speed(c.Speed)}}
	f["model"], f["instructions"] = c.Model, c.Instructions
	f["output_modalities"] = modalities(c.TextOnly)
	f["max_output_tokens"] = maxOut(c.MaxTokens)
	f["tools"], f["tool_choice"] = encodeTools(c.Tools), encodeChoice(c.Choice)
	f["parallel_tool_calls"] = !c.Choice.Single
	f["tracing"], f["prompt"], f["truncation"] = nil, nil, "disabled"
	return f
}

func encodeFormat(f audio.Format) fields {
	if f == audio.ULaw || f == audio.ALaw {
		return fields{"type": string(f)}
	}
	return fields{"type": string(f), "rate": f.Rate()}
}

func encodeTranscription(t *turn.Transcription) any {
	if t == nil {
		return nil
	}
	return fields{"model": orNull(t.Model), "language": orNull(t.Language), "prompt": orNull(t.Prompt)}
}

func encodeDetection(d turn.Detection) any {
	f := fields{"type": string(d.Mode), "create_response": d.CreateResponse, "interrupt_response": d.InterruptResponse}
	switch d.Mode {
	case turn.ServerVAD:
		f["threshold"], f["prefix_padding_ms"], f["silence_duration_ms"] = d.Threshold, d.Prefix.Milliseconds(), d.Silence.Milliseconds()
		f["idle_timeout_ms"] = nil
		if d.IdleTimeout > 0 {
			f["idle_timeout_ms"] = d.IdleTimeout.Milliseconds()
		}
	case turn.SemanticVAD:
		f["eagerness"] = string(d.Eagerness)
	default:
		return nil
	}
	return f
}

func encodeTools(tools []inference.Tool) []fields {
	out := make([]fields, len(tools))
	for i, t := range tools {
		out[i] = fields{"type": "function", "name": t.Name, "description": t.Description, "parameters": schema(t.Parameters)}
	}
	return out
}

func encodeChoice(c inference.ToolChoice) any {
	switch {
	case c.Name != "":
		return fields{"type": "function", "name": c.Name}
	case c.Mode == "":
		return string(inference.ToolAuto)
	}
	return string(c.Mode)
}

func modalities(text bool) []string {
	if text {
		return []string{"text"}
	}
	return []string{"audio"}
}

func maxOut(n int) any {
	if n == 0 {
		return "inf"
	}
	return n
}

func speed(s float64) float64 {
	if s == 0 {
		return 1
	}
	return s
}

func encodeResponse(r turn.Response) fields {
	f := fields{
		"id": r.ID, "object": "realtime.response", "status": string(r.Status), "status_details": statusDetails(r),
		"output": encodeItems(r.Items), "output_modalities": modalities(r.TextOnly), "max_output_tokens": maxOut(r.MaxTokens),
		"metadata": nil, "usage": nil, "conversation_id": ConversationID, "audio": fields{"output": fields{"voice": r.Voice}},
	}
	if r.OutOfBand {
		f["conversation_id"] = nil
	}
	if r.Metadata != nil {
		f["metadata"] = r.Metadata
	}
	if r.Status != turn.ResponseInProgress {
		f["usage"] = usage(r.Usage)
	}
	return f
}

// ConversationID names the one conversation that a session has.
const ConversationID = "conv_0"

func statusDetails(r turn.Response) any {
	switch r.Status {
	case turn.ResponseInProgress:
		return nil
	case turn.ResponseFailed:
		return fields{"type": string(r.Status), "error": fields{"type": TypeServer, "code": r.Code, "message": r.Message}}
	case turn.ResponseCancelled, turn.ResponseIncomplete:
		return fields{"type": string(r.Status), "reason": r.Reason}
	}
	return fields{"type": string(r.Status)}
}

// encodeContent is a part of a response's content: "text" or "audio" by the API.
func encodeContent(p turn.Part) fields {
	if p.Kind == turn.OutputAudio {
		return fields{"type": "audio", "transcript": p.Text}
	}
	return fields{"type": "text", "text": p.Text}
}

// usage counts text only: what a model here reads and writes is text.
func usage(u inference.Usage) fields {
	return fields{
		"total_tokens": u.PromptTokens + u.CompletionTokens, "input_tokens": u.PromptTokens, "output_tokens": u.CompletionTokens,
		"input_token_details":  fields{"text_tokens": u.PromptTokens, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": u.CachedTokens},
		"output_token_details": fields{"text_tokens": u.CompletionTokens, "audio_tokens": 0},
	}
}
