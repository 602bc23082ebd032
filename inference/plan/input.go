package plan

import (
	"fmt"
	"strings"

	"dure/gguf"
)

// Kind of a device, as the engine names it.
const (
	CPU  = "cpu"
	GPU  = "gpu"
	IGPU = "igpu" // shares the machine's memory
)

// Device is memory that a model can be put into.
type Device struct {
	// Name as the engine has it: "CPU", "CUDA0", "Vulkan1".
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Backend decides alignment and scratch space: "CUDA", "ROCm", "Vulkan", "CPU".
	Backend string `json:"backend"`
	// Assumed says that it stands for a card by its name or size, not for a
	// device that an engine found. Another backend may then drive it.
	Assumed bool `json:"assumed,omitempty"`
	// TotalBytes is the size of its memory, FreeBytes what is not taken by
	// others. Both 0 on the CPU: not known and not checked.
	TotalBytes uint64 `json:"total_bytes"`
	FreeBytes  uint64 `json:"free_bytes"`
	// Alignment of tensors in bytes; 0 takes the backend's usual one.
	Alignment uint64 `json:"alignment"`
	// MaxTensor is the largest tensor in bytes that it can compute with, 0 for
	// any. Weights beyond it stay on the CPU. Software Vulkan takes 128 MiB.
	MaxTensor uint64 `json:"max_tensor"`
	// Bandwidth of its memory in bytes a second, for the cost of layers on the
	// CPU; 0 takes an assumed one.
	Bandwidth uint64 `json:"bandwidth"`
}

// Model is what is planned.
type Model struct {
	Geometry *gguf.Geometry
	// Files are the tensor directories, one per shard. Without them the sizes of
	// weights come from the geometry and miss the padding between tensors.
	Files [][]gguf.Tensor
	// VisionBytes is the size of a vision projector's file, 0 without one.
	VisionBytes uint64
}

// FromFile makes a Model of an opened one.
func FromFile(m *gguf.Model) (Model, error) {
	g, err := m.Geometry()
	if err != nil {
		return Model{}, fmt.Errorf("plan: %w", err)
	}
	out := Model{Geometry: g}
	for _, f := range m.Files {
		out.Files = append(out.Files, f.Tensors)
	}
	return out, nil
}

// Cache is the pair of types that keys and values are stored as.
type Cache struct {
	Keys   gguf.TensorType `json:"keys"`
	Values gguf.TensorType `json:"values"`
}

// Quantised says that one of the two is of a blocked type.
func (c Cache) Quantised() bool { return c.Keys.BlockSize() > 1 || c.Values.BlockSize() > 1 }

// String names the types as the engine does: "q8_0", or "q8_0/q4_0" where they
// differ.
func (c Cache) String() string {
	keys, values := strings.ToLower(c.Keys.String()), strings.ToLower(c.Values.String())
	if keys == values {
		return keys
	}
	return keys + "/" + values
}

// Layers on the GPUs: a count up to the model's layers and one, or one of these.
const (
	LayersAuto = 0  // all of them, or as many as fit beside a known CPU
	LayersNone = -1 // none
	LayersAll  = 1 << 20
)

// Pool is how sequences share the KV cells.
type Pool string

// The two pools. The zero value is Split, the engine's default. Sequences of a
// unified pool share cells of a common beginning; one sequence more than there
// are agents serves to make and keep such beginnings.
const (
	Split   Pool = "split"   // each sequence owns its cells
	Unified Pool = "unified" // one pool for all
)

// spare are the sequences that are no agent's.
func (p Pool) spare() int {
	if p == Unified {
		return 1
	}
	return 0
}

// Wish is what is asked of the model. Zero fields are chosen.
type Wish struct {
	// Context is the tokens an agent can hold; 0 takes the most that fits, up to
	// what the model was trained for.
	Context int
	// Agents alive (1 if 0) and Active, those with a sequence in the engine;
	// the others are parked in the machine's memory. 0 takes as many as fit.
	Agents, Active int
	// Cache types; nil tries them from the largest down, but for those Refused.
	Cache   *Cache
	Refused []Cache
	Pool    Pool
	// Waiting are agents whose parked states are to be told; nil for none.
	Waiting *Waiting
	// MTP is how many further tokens are drafted; it needs a model with MTP
	// layers, and each of those drafts 8 at most, all of them 15.
	MTP int
	// Rollback is how many guesses a sequence can take back, for models with recurrent
	// layers: a copy of its state for each. MTP has its own.
	Rollback int
	// Draft is a smaller model that guesses tokens for this one; nil for none.
	Draft *Model
	// MicroBatch is the tokens computed at once (512; 65536 at most), Outputs the rows with
	// logits in a step (one per sequence and drafted token).
	MicroBatch, Outputs int
	NoFlash             bool // without flash attention
	// ShortWindow keeps only the window in layers that have one. Branches then
	// need checkpoints.
	ShortWindow bool
	// Layers on the GPUs, the output counting as one.
	Layers int
	// Reserve stays free on each device that is used, in bytes; nil takes DefaultReserve.
	Reserve *uint64
	// Beside are other residents of the devices.
	Beside []Claim
	// LongContext loads with YaRN, for contexts beyond the trained one only. It
	// changes the answers to short prompts too. Models whose header names other
	// scaling, or that have no rotary positions, are refused.
	LongContext bool
}

// Claim is memory that something else holds, or wants, on a device.
type Claim struct {
	Name   string
	Device string
	Bytes  uint64
	// Turns says that it is loaded only while the model is not.
	Turns bool
}

// DefaultReserve stays free: a desktop's windows, a driver's pools.
const DefaultReserve = 512 << 20

// Input of Make.
type Input struct {
	Model   Model
	Devices []Device
	Wish    Wish
	// Measured replaces formulas for the shapes it was taken at.
	Measured []Measurement
	// Loss says in words what a type of the cache loses with this model, by its name
	// (Cache.String); nil where nobody knows.
	Loss map[string]string
	// Ratio is how many times smaller than f16 the states of this model were measured
	// to be in a quality class, by its name; nil where nobody knows.
	Ratio map[string]float64
}

// Shape is everything that the engine's buffers depend on besides the model.
type Shape struct {
	// Cells as asked of the engine, over all sequences.
	Cells       int   `json:"cells"`
	Sequences   int   `json:"sequences"`
	Cache       Cache `json:"cache"`
	Pool        Pool  `json:"pool"`
	MicroBatch  int   `json:"micro_batch"`
	Outputs     int   `json:"outputs"`
	Rollback    int   `json:"rollback"`
	NoFlash     bool  `json:"no_flash"`
	ShortWindow bool  `json:"short_window"`
	Layers      int   `json:"layers"` // on GPUs
	// Draft is the context of the MTP layers.
	Draft bool `json:"draft"`
}

// Measurement is what the engine said of one shape.
type Measurement struct {
	Shape Shape `json:"shape"`
	// Compute buffers in bytes by the name of the device; "CPU" is all host memory.
	Compute map[string]uint64 `json:"compute"`
	// Driver is what the driver counted for the process beyond the engine's
	// buffers, in bytes by the name of the device; empty where it does not tell.
	Driver map[string]uint64 `json:"driver,omitempty"`
}
