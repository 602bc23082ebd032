package remote

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"dure/inference"
)

// maxList is far more than any endpoint's list of models has, in bytes.
const maxList = 8 << 20

// Models are the names that the endpoint has models by, as it tells them (GET /models, of
// both APIs); nil without an error: it keeps no list. Nothing is generated, and one try is
// made. Errors are an *Error.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.at.Base+"/models", nil)
	if err != nil {
		return nil, m.errorf(Refused, "%v", err)
	}
	m.wire.head(req.Header, &m.at, &inference.Request{})
	resp, err := m.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, m.errorf(Late, "it told no list of its models in time")
		}
		return nil, m.errorf(Unreachable, "%v", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	switch {
	case err != nil:
		return nil, m.errorf(Cut, "the list of its models broke off: %v", err)
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed:
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		var said struct {
			Error wireError `json:"error"`
		}
		if json.Unmarshal(data, &said) != nil || said.Error.Message == "" {
			said.Error.Message = resp.Status
		}
		return nil, m.said(said.Error, resp.StatusCode)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, m.errorf(Garbled, "what it tells as the list of its models is none: %s", m.excerpt(data, 100))
	}
	names := make([]string, 0, len(list.Data))
	for _, d := range list.Data {
		names = append(names, d.ID)
	}
	return names, nil
}
