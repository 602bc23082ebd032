package remote

import (
	"encoding/hex"
	"encoding/json"

	"dure/inference"
)

// maxProof is how many bytes of one answer's proof are given to a caller.
const maxProof = 512 << 10

// proof is Message.Proof of an answer of Anthropic's API: its blocks with their
// signatures, for a process that was not there.
type proof struct {
	Of     string  `json:"of"`   // the endpoint and the model
	Said   string  `json:"said"` // what the answer said, hashed
	Blocks []block `json:"blocks"`
}

func proofOf(where string, said inference.Message, blocks []block) json.RawMessage {
	key := keyOf(said)
	b, err := json.Marshal(proof{where, hex.EncodeToString(key[:]), blocks})
	if err != nil { // the input of a call that is no JSON: then nothing is proved
		return nil
	}
	return b
}

// proved returns the blocks that a message brings with it; nil where that is nothing, of
// another endpoint or model, or of a message that said something else.
func (a *anthropic) proved(m inference.Message) []block {
	var p proof
	if len(m.Proof) == 0 || len(m.Proof) > maxProof || json.Unmarshal(m.Proof, &p) != nil {
		return nil
	}
	key, calls := keyOf(m), 0
	for _, b := range p.Blocks {
		switch b.Type {
		case "tool_use":
			calls++
		case "text", "thinking", "redacted_thinking":
		default:
			return nil
		}
	}
	if p.Of != a.where || p.Said != hex.EncodeToString(key[:]) || calls != len(m.ToolCalls) {
		return nil
	}
	return p.Blocks
}
