package ollama

import (
	"context"
	"net/http"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/front"
	"dure/inference/front/fronttest"
)

// reader makes vectors that tell what it was asked.
type reader struct{ inference.Model }

func (reader) Embedding() *inference.EmbeddingInfo { return &inference.EmbeddingInfo{Dimensions: 2} }

func (reader) Embed(_ context.Context, req *inference.EmbedRequest) (*inference.Embeddings, error) {
	out := &inference.Embeddings{PromptTokens: 7}
	for i, in := range req.Inputs {
		out.Vectors = append(out.Vectors, []float32{float32(i), float32(len(in.Text))})
	}
	return out, nil
}

// shelf is a catalogue whose model "org/large" is a reader.
type shelf struct{ front.Models }

func (s shelf) Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	m, release, err := s.Models.Open(ctx, name, keep)
	if name == "org/large" {
		m = reader{m}
	}
	return m, release, err
}

// The stock clients, through whole conversations. Both leave two answers that would go
// on for ever.
func TestStockClients(t *testing.T) {
	for script, c := range map[string]fronttest.Client{
		"chat.mjs": {Kind: "npm", Package: "ollama", Version: "0.6.4"},
		"chat.py":  {Kind: "python", Package: "ollama", Version: "0.6.3"},
	} {
		t.Run(script, func(t *testing.T) {
			model := fronttest.Talker{Left: make(chan struct{}, 9)}
			surface := Surface(Options{Catalogue: &library{}, Version: "1.2.3"})
			w := fronttest.New(t, []front.Surface{surface}, model.Generate, func(o *front.Options) {
				o.Models = shelf{o.Models}
				o.Keys = fronttest.Keys{"secret": {Right: true}, "narrow": {Refuse: front.Refuse(http.StatusForbidden, "model_not_allowed", "the key may not use it")}}
			})
			c.Run(t, enginetest.Home(t), "testdata/clients/"+script, w.URL)
			if t.Failed() || t.Skipped() {
				return
			}
			for range 2 {
				<-model.Left
			}
		})
	}
}
