package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"dure/inference"
	"dure/inference/embed"
	"dure/inference/llm"
)

// Config is what the child is told, as the first line of its standard input.
type Config struct {
	Socket    string `json:"socket"`     // path to listen on
	EngineDir string `json:"engine_dir"` // folder of the shared libraries
	ModelPath string `json:"model_path"` // GGUF file
	GPULayers int    `json:"gpu_layers"` // negative = all
	// DraftPath is the GGUF file of a smaller model that guesses coming tokens, empty
	// for none; DraftLayers as GPULayers.
	DraftPath   string     `json:"draft_path,omitempty"`
	DraftLayers int        `json:"draft_layers,omitempty"`
	LLM         llm.Config `json:"llm"`
	// Embed, where it is set, has the model make vectors, or scores, instead of text.
	// Models that can do nothing else do so without it.
	Embed *embed.Config `json:"embed,omitempty"`
	// MemoryBytes the KV cache may take.
	MemoryBytes uint64 `json:"memory_bytes"`
	// Turns says that the line to the arbiter is at turnFD; Start sets it.
	Turns    bool   `json:"turns,omitempty"`
	LogLevel string `json:"log_level"` // debug, info, warn, error
}

// status is one line on descriptor 3 of the child, until it is ready.
type status struct {
	Progress float32         `json:"progress,omitempty"` // of the weights, 0..1
	Ready    *inference.Info `json:"ready,omitempty"`
	// Embedding is set with Ready for a model that makes no text.
	Embedding *inference.EmbeddingInfo `json:"embedding,omitempty"`
	Notes     []string                 `json:"notes,omitempty"` // what was derived
	Error     string                   `json:"error,omitempty"`
}

// message is one part of the answer to POST /generate, written as a line of JSON.
// Text events, of which there is one a token, go without JSON: a line
// "=LENGTH", then that many bytes of text.
type message struct {
	Event *inference.Event `json:"event,omitempty"`
	Error *inference.Error `json:"error,omitempty"`
}

// maxText bounds what a text event may claim to hold; a token has a few bytes,
// and text that was held back for a stop string at most as many as that string.
const maxText = 1 << 20

// appendText appends a text event.
func appendText(b []byte, text string) []byte {
	b = append(b, '=')
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, '\n')
	return append(b, text...)
}

// readMessage reads one message.
func readMessage(r *bufio.Reader) (message, error) {
	var m message
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		line = bytes.Clone(line)
		rest, err = r.ReadBytes('\n')
		line = append(line, rest...)
	}
	if err != nil {
		return m, err
	}
	if line[0] == '=' {
		return readText(r, line)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("line %.80q: %w", line, err)
	}
	if m.Event == nil && m.Error == nil {
		return m, fmt.Errorf("empty message %.80q", line)
	}
	return m, nil
}

func readText(r *bufio.Reader, header []byte) (message, error) {
	n, err := strconv.Atoi(string(header[1 : len(header)-1]))
	if err != nil || n < 0 || n > maxText {
		return message{}, fmt.Errorf("text event %.80q: bad length", header)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return message{}, err
	}
	return message{Event: &inference.Event{Kind: inference.EventText, Text: string(text)}}, nil
}

// Paths the child answers on its socket.
const (
	pathGenerate = "/generate" // POST inference.Request -> messages
	pathStats    = "/stats"    // GET -> llm.Stats
	pathText     = "/text"     // POST textRequest -> textAnswer, or a message with an error
	pathEmbed    = "/embed"    // POST inference.EmbedRequest -> embedAnswer, or a message with an error
	pathRerank   = "/rerank"   // POST inference.RerankRequest -> inference.Ranking, or a message with an error
)

// The child's descriptors for status lines, and for its turns on its devices.
const (
	statusFD = 3
	turnFD   = 4
)

// textRequest asks for one of what inference.Tokenizer and Explainer do; which, Do says.
type textRequest struct {
	Do      textTask           `json:"do"`
	Text    string             `json:"text,omitempty"`
	Special bool               `json:"special,omitempty"`
	Tokens  []int32            `json:"tokens,omitempty"`
	Request *inference.Request `json:"request,omitempty"`
	Open    bool               `json:"open,omitempty"`

	Explain *inference.ExplainRequest `json:"explain,omitempty"`
}

type textTask string

const (
	taskTokenize   textTask = "tokenize"
	taskDetokenize textTask = "detokenize"
	taskRender     textTask = "render"
	taskExplain    textTask = "explain"
)

type textAnswer struct {
	Tokens []int32  `json:"tokens,omitempty"`
	Pieces [][]byte `json:"pieces,omitempty"`
	Text   string   `json:"text,omitempty"`

	Explanation *inference.Explanation `json:"explanation,omitempty"`
}
