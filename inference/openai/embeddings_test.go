package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/front/strict"

	client "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// reader is a model that reads only: its vectors and scores tell what it was asked.
type reader struct {
	fronttest.Model
	asked chan inference.EmbedRequest
	err   error
}

func (r reader) Embedding() *inference.EmbeddingInfo {
	return &inference.EmbeddingInfo{Dimensions: 3, Reranks: true}
}

func (r reader) Embed(_ context.Context, req *inference.EmbedRequest) (*inference.Embeddings, error) {
	r.asked <- *req
	if r.err != nil {
		return nil, r.err
	}
	out := &inference.Embeddings{PromptTokens: 7}
	for i, in := range req.Inputs {
		out.Vectors = append(out.Vectors, []float32{float32(i), float32(len(in.Text) + 100*len(in.Tokens)), -0.1})
	}
	return out, nil
}

func (r reader) Rerank(_ context.Context, req *inference.RerankRequest) (*inference.Ranking, error) {
	if r.err != nil {
		return nil, r.err
	}
	out := &inference.Ranking{PromptTokens: 9}
	for _, doc := range req.Documents {
		out.Scores = append(out.Scores, float32(len(doc))/float32(8*len(req.Query)))
	}
	return out, nil
}

// readers is a catalogue of such models, but for the one named "large".
type readers struct {
	front.Models
	reader reader
}

func (r readers) Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	m, release, err := r.Models.Open(ctx, name, keep)
	if err == nil && name == "small" {
		m = r.reader
	}
	return m, release, err
}

func newReaders(t *testing.T, err error) (*world, chan inference.EmbedRequest) {
	asked := make(chan inference.EmbedRequest, 16)
	return newWorld(t, script(nil), func(o *front.Options) { o.Models = readers{o.Models, reader{asked: asked, err: err}} }), asked
}

func (w *world) post(path, body string, headers ...string) reply {
	return w.do("POST", path, body, append(headers, "Content-Type", "application/json")...)
}

// The stock Go client reads what these routes write, in both encodings.
func TestStockClientEmbeds(t *testing.T) {
	w, asked := newReaders(t, nil)
	c := client.NewClient(option.WithBaseURL(w.URL+"/v1/"), option.WithAPIKey("k"), option.WithMaxRetries(0))
	params := client.EmbeddingNewParams{
		Model: "small", Input: client.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a", "bcd"}},
		Dimensions: client.Int(3), EncodingFormat: client.EmbeddingNewParamsEncodingFormatFloat, User: client.String("me"),
	}
	got, err := c.Embeddings.New(t.Context(), params)
	if err != nil || len(got.Data) != 2 || got.Data[1].Index != 1 || got.Data[1].Embedding[1] != 3 || got.Usage.PromptTokens != 7 || got.Model != "small" {
		t.Fatalf("%v %s", err, got.RawJSON())
	}
	if req := <-asked; req.Dimensions != 3 || req.Inputs[1].Text != "bcd" || req.ID == "" {
		t.Errorf("%+v", req)
	}
	params.EncodingFormat = client.EmbeddingNewParamsEncodingFormatBase64
	params.Input = client.EmbeddingNewParamsInputUnion{OfArrayOfTokens: []int64{5, 6}}
	var raw *http.Response
	if _, err := c.Embeddings.New(t.Context(), params, option.WithResponseInto(&raw)); err == nil {
		t.Log("this client reads base64 too")
	}
	r := w.post("/v1/embeddings", `{"model":"small","input":[5,6],"encoding_format":"base64"}`)
	_, text, _ := strings.Cut(r.body, `"embedding":"`)
	text, _, _ = strings.Cut(text, `"`)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 12 || math.Float32frombits(binary.LittleEndian.Uint32(b[4:])) != 200 {
		t.Errorf("%s: %v, %v", r.body, b, err)
	}
	params.Input = client.EmbeddingNewParamsInputUnion{OfString: client.String(strings.Repeat("x", 3))}
	params.EncodingFormat, params.Dimensions = "", client.Int(0)
	var refused *client.Error
	if _, err := c.Embeddings.New(t.Context(), params); !errors.As(err, &refused) || refused.Param != "dimensions" {
		t.Errorf("%v", err)
	}
}

func TestEmbeddings(t *testing.T) {
	w, asked := newReaders(t, nil)
	r := w.post("/v1/embeddings", `{"input":"abc","agent":"a1","deadline_ms":60000}`, "X-Dure-Priority", "worker")
	if want := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0,3,-0.1]}],"model":"small","usage":{"prompt_tokens":7,"total_tokens":7}}` + "\n"; r.status != 200 || r.body != want {
		t.Errorf("%d %s", r.status, r.body)
	}
	req := <-asked
	if c := req.Caller; c.Agent != "a1" || c.Priority != inference.PriorityWorker || c.DeadlineMS < 1 || c.DeadlineMS > 60000 {
		t.Errorf("%+v", c)
	}
	if n := w.Metric(`dure_prompt_tokens_total{model="small"}`); n != "7" {
		t.Errorf("%q prompt tokens are counted", n)
	}
	r = w.post("/v1/embeddings", `{"input":[[1,2],[3]],"quux":1,"pin_prefix":true,"truncate":false,"normalize":true}`)
	if r.status != 200 || !strings.Contains(r.body, `[0,200,-0.1]`) || !strings.Contains(r.body, "quux: unknown field, ignored") || !strings.Contains(r.body, "pin_prefix") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if req = <-asked; len(req.Inputs) != 2 || req.Inputs[1].Tokens[0] != 3 {
		t.Errorf("%+v", req)
	}
}

func TestEmbeddingRefusals(t *testing.T) {
	w, asked := newReaders(t, nil)
	for body, want := range map[string]string{
		`{}`:                                    `"input"`,
		`{"input":""}`:                          "input: is empty",
		`{"input":[]}`:                          "at least one input",
		`{"input":["a",""]}`:                    "input[1]: is empty",
		`{"input":["a",1]}`:                     "input[1]",
		`{"input":[1,"a"]}`:                     "input[1]",
		`{"input":[[1],"a"]}`:                   "input[1]",
		`{"input":[[[1]]]}`:                     "input[0][0]",
		`{"input":{"text":"a"}}`:                "a list of strings",
		`{"input":7}`:                           "a list of strings",
		`{"input":"a","dimensions":0}`:          "dimensions",
		`{"input":"a","encoding_format":"hex"}`: "encoding_format",
		`{"input":"a","truncate":true}`:         "truncate",
		`{"input":"a","truncate":"END"}`:        "truncate",
		`{"input":"a","normalize":false}`:       "normalize",
		`{"input":"a","input_type":"query"}`:    "input_type",
		`{"input":[` + strings.Repeat(`"a",`, maxInputs) + `"a"]}`: "at most 2048 inputs",
	} {
		if r := w.post("/v1/embeddings", body); r.status != 400 || !strings.Contains(r.body, strings.ReplaceAll(want, `"`, `\"`)) && !strings.Contains(r.body, want) {
			t.Errorf("%.60s: %d %s", body, r.status, r.body)
		}
	}
	if r := w.post("/v1/embeddings", `{"model":"none","input":"a"}`); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := w.post("/v1/embeddings", `{"model":"org/large","input":"a"}`); r.status != 400 || !strings.Contains(r.body, "unsupported_parameter") {
		t.Errorf("a model without vectors: %d %s", r.status, r.body)
	}
	if len(asked) > 0 {
		t.Error("a refused request reached the model")
	}
}

// What the model refuses has the path in the body, and its own status.
func TestEmbeddingBlame(t *testing.T) {
	long := inference.Errorf(inference.CodeContextExceeded, "it has 9 tokens, 8 at most")
	long.Param, long.PromptTokens, long.ContextTokens = "input[0]", 9, 8
	w, _ := newReaders(t, long)
	for body, want := range map[string]string{`{"input":"a"}`: "input", `{"input":["a"]}`: "input[0]"} {
		r := w.post("/v1/embeddings", body)
		if r.status != 400 || !strings.Contains(r.body, fmt.Sprintf(`"message":"%s: it has 9`, want)) || !strings.Contains(r.body, fmt.Sprintf(`"param":"%s"`, want)) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	long.Param = "documents[3]"
	if r := w.post("/v1/rerank", `{"query":"a","documents":["a"]}`); r.status != 400 || !strings.Contains(r.body, `"message":"documents[3]: it has 9`) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestRerank(t *testing.T) {
	w, _ := newReaders(t, nil)
	r := w.post("/v1/rerank", `{"model":"small","query":"q","documents":["ab",{"text":"abcd","id":7},"ab"],"return_documents":true,"top_n":2}`, "X-Request-Id", "r1")
	want := `{"id":"r1","object":"list","model":"small","results":[{"index":1,"relevance_score":0.5,"document":{"text":"abcd"}},{"index":0,"relevance_score":0.25,"document":{"text":"ab"}}],` +
		`"usage":{"prompt_tokens":9,"total_tokens":9},"warnings":["documents[1].id: unknown field, ignored"]}` + "\n"
	if r.status != 200 || r.body != want {
		t.Errorf("%d %s", r.status, r.body)
	}
	r = w.post("/v1/rerank", `{"query":"q","documents":["a","abc","ab"],"top_n":9}`)
	if r.status != 200 || !strings.Contains(r.body, `"results":[{"index":1,"relevance_score":0.375},{"index":2,`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for body, want := range map[string]string{
		`{"documents":["a"]}`:                                    "query",
		`{"query":"a"}`:                                          "documents",
		`{"query":"a","documents":[]}`:                           "documents",
		`{"query":"a","documents":"a"}`:                          "a list",
		`{"query":"a","documents":[""]}`:                         "documents[0]: is empty",
		`{"query":"a","documents":[{"title":"a"}]}`:              "documents[0].text",
		`{"query":"a","documents":[{"text":1}]}`:                 "documents[0].text",
		`{"query":"a","documents":["a"],"top_n":0}`:              "top_n",
		`{"query":"a","documents":["a"],"truncate":true}`:        "truncate",
		`{"query":"a","documents":["a"],"max_chunks_per_doc":1}`: "max_chunks_per_doc",
	} {
		if r := w.post("/v1/rerank", body); r.status != 400 || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
}

func FuzzEmbeddings(f *testing.F) {
	for _, body := range []string{`{"input":"a"}`, `{"input":["a","b"],"dimensions":8,"encoding_format":"base64"}`, `{"input":[1,2]}`, `{"input":[[1],[2,3]]}`, `{"input":[[]]}`, `{"input":null}`, `{"query":"a","documents":["b",{"text":"c"}]}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var e embeddingRequest
		if _, err := strict.Decode([]byte(body), embeddingFields, &e, checkEmbedding); err == nil {
			if len(e.inputs) == 0 || len(e.inputs) > maxInputs {
				t.Errorf("%q: %d inputs", body, len(e.inputs))
			}
			for i, in := range e.inputs {
				if (in.Text == "") == (in.Tokens == nil) {
					t.Errorf("%q: input %d is %+v", body, i, in)
				}
			}
		}
		var r rerankRequest
		if _, err := strict.Decode([]byte(body), rerankFields, &r, checkRerank); err == nil {
			if r.query == "" || len(r.documents) == 0 || slices.Contains(r.documents, "") {
				t.Errorf("%q: %+v", body, r)
			}
		}
	})
}
