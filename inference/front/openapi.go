package front

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"dure/inference"
)

// The document of GET /openapi.json. It is made from the route table, and says what
// that says: no more than that a body is JSON, what may be in it is the surface's.
type (
	document struct {
		OpenAPI    string                          `json:"openapi"`
		Info       map[string]string               `json:"info"`
		Security   []map[string][]string           `json:"security"`
		Paths      map[string]map[string]operation `json:"paths"`
		Components components                      `json:"components"`
	}
	operation struct {
		Summary    string                 `json:"summary"`
		Notes      string                 `json:"description,omitempty"`
		Parameters []parameter            `json:"parameters,omitempty"`
		Body       *requestBody           `json:"requestBody,omitempty"`
		Responses  map[string]any         `json:"responses"`
		Security   *[]map[string][]string `json:"security,omitempty"`
	}
	parameter struct {
		Name     string            `json:"name"`
		In       string            `json:"in"`
		Required bool              `json:"required"`
		Notes    string            `json:"description,omitempty"`
		Schema   map[string]string `json:"schema"`
	}
	requestBody struct {
		Notes   string         `json:"description"`
		Content map[string]any `json:"content"`
	}
	components struct {
		Keys      map[string]any `json:"securitySchemes"`
		Responses map[string]any `json:"responses"`
	}
)

// showDocument answers GET /openapi.json.
func (h *Handler) showDocument(x *Exchange, _ *http.Request) error {
	doc, err := h.document()
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, doc)
}

func (h *Handler) document() (*document, error) {
	doc := &document{
		OpenAPI:  "3.1.0",
		Info:     map[string]string{"title": "dure", "version": h.version},
		Security: []map[string][]string{{"bearer": {}}, {"key": {}}},
		Paths:    map[string]map[string]operation{},
		Components: components{
			Keys: map[string]any{
				"bearer": map[string]string{"type": "http", "scheme": "bearer"},
				"key":    map[string]string{"type": "apiKey", "in": "header", "name": "X-Api-Key"},
			},
			Responses: map[string]any{},
		},
	}
	if !h.keys.Required() {
		doc.Security = append(doc.Security, map[string][]string{}) // that is none
	}
	for _, s := range h.table.surfaces {
		example, err := h.exampleFailure(s)
		if err != nil {
			return nil, err
		}
		doc.Components.Responses[failureName(s)] = map[string]any{"description": "what went wrong", "content": jsonOf(map[string]any{"schema": schemaOf(example), "example": example})}
	}
	// Rows that need no header are those that everybody gets; what others get there is
	// named with them, since a document has one operation for a method and a path.
	rows := slices.Clone(h.table.rows)
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.Header, b.Header) })
	for i := range rows {
		doc.add(&rows[i])
	}
	return doc, nil
}

// add puts a row into the document.
func (doc *document) add(r *row) {
	path, method := doc.Paths[r.Path], strings.ToLower(r.Method)
	if path == nil {
		path = map[string]operation{}
		doc.Paths[r.Path] = path
	}
	op, taken := path[method]
	switch {
	case taken && r.Header == "":
		return // the first row counts
	case !taken:
		op = newOperation(r)
	}
	if r.Header != "" {
		op.Notes = strings.TrimSpace(op.Notes + " With the header " + r.Header + ": " + r.Doc + ".")
		op.Parameters = append(op.Parameters, parameter{Name: r.Header, In: "header", Required: !taken, Schema: map[string]string{"type": "string"}})
	}
	path[method] = op
}

func newOperation(r *row) operation {
	op := operation{
		Summary: r.Doc,
		Responses: map[string]any{
			"200":     map[string]string{"description": "the answer"},
			"default": map[string]string{"$ref": "#/components/responses/" + failureName(r.surface)},
		},
	}
	if strings.Contains(r.Path, wildcard) {
		op.Parameters = append(op.Parameters, parameter{Name: "id", In: "path", Required: true, Notes: "may hold slashes, as they are", Schema: map[string]string{"type": "string"}})
	}
	if r.MaxBody > 0 {
		op.Body = &requestBody{Notes: fmt.Sprintf("at most %d bytes", r.MaxBody), Content: jsonOf(map[string]any{"schema": map[string]string{"type": "object"}})}
	}
	if r.Admin {
		op.Notes = "Where keys are required, one with the admin right is."
	}
	if r.Open {
		op.Security = &[]map[string][]string{}
	}
	return op
}

func jsonOf(v any) map[string]any { return map[string]any{"application/json": v} }

// failureName names the form of a surface's failures.
func failureName(s *Surface) string {
	return "failure" + strings.ReplaceAll(strings.TrimRight(s.Prefix, "/"), "/", "-")
}

// headersOnly takes what a surface sets beside the body of a failure.
type headersOnly http.Header

func (h headersOnly) Header() http.Header         { return http.Header(h) }
func (h headersOnly) Write(p []byte) (int, error) { return len(p), nil }
func (h headersOnly) WriteHeader(int)             {}

// exampleFailure is a failure in the form of a surface, as it makes it.
func (h *Handler) exampleFailure(s *Surface) (v any, err error) {
	x := &Exchange{ResponseWriter: headersOnly{}, h: h, id: "req-EXAMPLE", holder: anybody{}}
	data, err := AppendJSON(nil, s.Fail(x, &Failure{Status: http.StatusBadRequest, Code: inference.CodeInvalidRequest, Param: "model", Message: "model: is required"}))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		return nil, fmt.Errorf("example of a failure below %s: %w", s.Prefix, err)
	}
	return v, nil
}

// schemaOf is the schema of a value like this one.
func schemaOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		members := map[string]any{}
		for name, member := range v {
			members[name] = schemaOf(member)
		}
		return map[string]any{"type": "object", "properties": members}
	case []any:
		return map[string]any{"type": "array"}
	case string:
		return map[string]any{"type": "string"}
	case float64:
		return map[string]any{"type": "number"}
	case bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{}
}
