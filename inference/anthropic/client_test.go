package anthropic

import (
	"net/http"
	"testing"

	"dure/inference/engine/enginetest"
	"dure/inference/front"
	"dure/inference/front/fronttest"
)

// The stock clients, through whole conversations. Both leave two answers that would
// go on for ever.
func TestStockClients(t *testing.T) {
	for script, c := range map[string]fronttest.Client{
		"messages.mjs": {Kind: "npm", Package: "@anthropic-ai/sdk", Version: "1.14.0"},
		"messages.py":  {Kind: "python", Package: "anthropic", Version: "2.14.0"},
	} {
		t.Run(script, func(t *testing.T) {
			model := fronttest.Talker{Left: make(chan struct{}, 9)}
			w := fronttest.New(t, []front.Surface{Surface()}, model.Generate, func(o *front.Options) {
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
