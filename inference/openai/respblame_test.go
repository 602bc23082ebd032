package openai

import (
	"strings"
	"testing"

	"dure/inference"
)

// A form that the model refuses is named as the client wrote it.
func TestResponseFormBlamed(t *testing.T) {
	refused := inference.Errorf(inference.CodeInvalidRequest, "format: schema at #: uniqueItems: it cannot be guaranteed")
	refused.Param = "format"
	w := newKept(t, t.TempDir(), script(refused))
	for _, stream := range []string{"", `"stream":true,`} {
		got := w.respond(`{"input":"x",` + stream + `"text":{"format":{"type":"json_schema","name":"n","schema":{}}}}`)
		if got.status != 400 || !strings.Contains(got.body, `"param":"text.format"`) || !strings.Contains(got.body, `"message":"text.format: schema at #: uniqueItems`) {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}
