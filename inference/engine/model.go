package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// ErrLoad is wrapped by every failure to load a model or make a context.
var ErrLoad = errors.New("load model")

// Token is an id of the model's vocabulary.
type Token = int32

// LoadOptions says how to load a model.
type LoadOptions struct {
	// Path of a .gguf file (the first one of a split set).
	Path string
	// GPULayers to offload; negative means all of them.
	GPULayers int
	// MTP loads the layers that predict further tokens too, where the file has any.
	MTP bool
	// Progress is called from the loading thread with 0..1; may be nil.
	Progress func(float32)
}

// Model is a loaded model. Its methods are safe for concurrent use until Close.
type Model struct {
	lib    *Library
	handle llama.Model
	vocab  llama.Vocab
	facts  Facts
	mtp    bool // loaded with LoadOptions.MTP

	vocabulary *Vocabulary
}

// Facts are what the engine knows of a loaded model.
type Facts struct {
	Architecture string
	Description  string // "llama 135M Q4_1"
	TrainContext int    // tokens
	Embedding    int    // width
	Layers       int
	Heads        int
	HeadsKV      int
	SlidingWin   int // tokens, 0 = none
	Vocabulary   int // tokens
	Parameters   uint64
	Bytes        uint64 // of the weights
	MTP          int    // layers that predict further tokens, not among Layers
	Recurrent    bool   // has no KV cache at all
	Hybrid       bool   // some layers recurrent, some attention
	Encoder      bool
	Decoder      bool
	ChatTemplate string // empty when the file has none
	BOS, EOS     Token  // -1 when there is none
	AddBOS       bool   // tokenising a document puts BOS in front
	AddEOS       bool   // and EOS behind it
}

// loading serialises loads: the progress callback is one C closure for the
// whole process, since each registration costs a slot for ever.
var loading struct {
	sync.Mutex
	callback uintptr
	report   func(float32) bool // true = go on
}

func progressCallback() uintptr {
	if loading.callback == 0 {
		var p llama.ModelParams
		p.SetProgressCallback(func(progress float32, _ uintptr) uint8 {
			if loading.report(progress) {
				return 1
			}
			return 0
		})
		loading.callback = p.ProgressCallback
	}
	return loading.callback
}

// LoadModel loads a model's weights. Cancelling ctx stops the load cleanly and
// returns ctx's error.
func (l *Library) LoadModel(ctx context.Context, opt LoadOptions) (*Model, error) {
	if err := checkModelFile(opt.Path); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLoad, err)
	}
	loading.Lock()
	defer loading.Unlock()
	params := llama.ModelDefaultParams()
	params.NGpuLayers = int32(opt.GPULayers)
	params.LoadMTP = boolByte(opt.MTP)
	params.ProgressCallback = progressCallback()
	loading.report = func(p float32) bool {
		if opt.Progress != nil {
			opt.Progress(p)
		}
		return ctx.Err() == nil
	}
	m, err := l.loadPacked(ctx, opt, params)
	if err != nil {
		return nil, err
	}
	m.vocabulary, m.mtp = readVocabulary(m), opt.MTP
	return m, nil
}

// load reads the file with these parameters, whatever the CPU makes of the weights.
func (l *Library) load(ctx context.Context, path string, params llama.ModelParams) (*Model, error) {
	l.log.takeProblems()
	handle, err := llama.ModelLoadFromFile(path, params)
	if err != nil || handle == 0 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %s: %s", ErrLoad, path, l.log.takeProblems())
	}
	m := &Model{lib: l, handle: handle, vocab: llama.ModelGetVocab(handle)}
	m.facts = m.readFacts()
	return m, nil
}

// checkModelFile gives the plain errors (missing, empty, a directory, not
// GGUF) in words, before the engine says them in its own.
func checkModelFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var magic [4]byte
	if n, err := f.Read(magic[:]); err != nil || n < len(magic) {
		return fmt.Errorf("%s is not a GGUF file: too short or unreadable", path)
	}
	if string(magic[:]) != "GGUF" {
		return fmt.Errorf("%s is not a GGUF file: it begins with %q", path, magic[:])
	}
	return nil
}

func (m *Model) readFacts() Facts {
	f := Facts{
		Description:  llama.ModelDesc(m.handle),
		TrainContext: int(llama.ModelNCtxTrain(m.handle)),
		Embedding:    int(llama.ModelNEmbd(m.handle)),
		Layers:       int(llama.ModelNLayer(m.handle)),
		Heads:        int(llama.ModelNHead(m.handle)),
		HeadsKV:      int(llama.ModelNHeadKV(m.handle)),
		SlidingWin:   int(llama.ModelNSWA(m.handle)),
		Vocabulary:   int(llama.VocabNTokens(m.vocab)),
		Parameters:   llama.ModelNParams(m.handle),
		Bytes:        llama.ModelSize(m.handle),
		MTP:          int(llama.ModelNLayerNextN(m.handle)),
		Recurrent:    llama.ModelIsRecurrent(m.handle),
		Hybrid:       llama.ModelIsHybrid(m.handle),
		Encoder:      llama.ModelHasEncoder(m.handle),
		Decoder:      llama.ModelHasDecoder(m.handle),
		ChatTemplate: llama.ModelChatTemplate(m.handle, ""),
		BOS:          Token(llama.VocabBOS(m.vocab)),
		EOS:          Token(llama.VocabEOS(m.vocab)),
		AddBOS:       llama.VocabGetAddBOS(m.vocab),
		AddEOS:       llama.VocabGetAddEOS(m.vocab),
	}
	f.Architecture, _ = llama.ModelMetaValStr(m.handle, "general.architecture")
	return f
}

// Facts of the loaded model.
func (m *Model) Facts() Facts { return m.facts }

// Close frees the weights. Contexts made from it must be closed before.
func (m *Model) Close() error {
	if m.handle == 0 {
		return nil
	}
	err := llama.ModelFree(m.handle)
	m.handle = 0
	return err
}

// Vocabulary is the text of the model's tokens.
func (m *Model) Vocabulary() *Vocabulary { return m.vocabulary }
