package runner

import (
	"dure/inference"
	"dure/inference/llm"
)

// Config is what the child is told, as the first line of its standard input.
type Config struct {
	Socket    string     `json:"socket"`     // path to listen on
	EngineDir string     `json:"engine_dir"` // folder of the shared libraries
	ModelPath string     `json:"model_path"` // GGUF file
	GPULayers int        `json:"gpu_layers"` // negative = all
	LLM       llm.Config `json:"llm"`
	// MemoryBytes the KV cache may take.
	MemoryBytes uint64 `json:"memory_bytes"`
	LogLevel    string `json:"log_level"` // debug, info, warn, error
}

// status is one line on descriptor 3 of the child, until it is ready.
type status struct {
	Progress float32         `json:"progress,omitempty"` // of the weights, 0..1
	Ready    *inference.Info `json:"ready,omitempty"`
	Notes    []string        `json:"notes,omitempty"` // what was derived
	Error    string          `json:"error,omitempty"`
}

// message is one line of the answer to POST /generate.
type message struct {
	Event *inference.Event `json:"event,omitempty"`
	Error *inference.Error `json:"error,omitempty"`
}

// Paths the child answers on its socket.
const (
	pathGenerate = "/generate" // POST inference.Request -> lines of message
	pathStats    = "/stats"    // GET -> llm.Stats
)

// statusFD is the child's descriptor for status lines.
const statusFD = 3
