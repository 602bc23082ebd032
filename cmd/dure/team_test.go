package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// agentBody is a request of an agent for an answer without an end.
func agentBody(agent, parent, content string) string {
	return chatBody(content, `,"agent":"`+agent+`","parent":"`+parent+`","session":"`+agent+`","priority":"worker"`+endlessMore)
}

// call sends a request without a body and returns the answer's status and body.
func (s *server) call(method, path string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Agents of one team that are written for, that have their prompt read and that
// wait: one call stops all below the named one and nobody else.
func TestStopSubtree(t *testing.T) {
	s := startServer(t, "--context", "8192", "--sequences", "2", "--queue", "4")
	other := firstToken(t, s.post(t.Context(), agentBody("other", "boss", "go on")))
	decoding := firstToken(t, s.post(t.Context(), agentBody("lead", "boss", "go on")))
	ended := make(chan string, 2)
	await := func(body string) {
		resp := s.post(context.WithoutCancel(t.Context()), body)
		data, _ := io.ReadAll(resp.Body)
		ended <- resp.Status + " " + string(data)
	}
	go await(agentBody("waits", "lead", "wait"))
	go await(agentBody("below", "waits", "wait too"))
	eventually(t, "two requests wait", func() bool { return s.modelMetric("requests", `,state="waiting"`) == 2 })

	status, body := s.call("DELETE", "/dure/agents/lead")
	want := `{"id":"lead","cancelled":3,"agents":[{"id":"lead","cancelled":1},{"id":"below","cancelled":1},{"id":"waits","cancelled":1}]}`
	if status != 200 || strings.TrimSpace(body) != want {
		t.Errorf("%d %s", status, body)
	}
	for range 2 {
		if got := <-ended; !strings.Contains(got, `"code":"agent_stopped"`) || strings.Contains(got, "[DONE]") {
			t.Errorf("a request that waited ended with %.300s", got)
		}
	}
	rest, err := io.ReadAll(decoding)
	if err != nil || !strings.Contains(string(rest), `"code":"agent_stopped"`) || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("%v, the stream ended with %.300s", err, rest[max(0, len(rest)-300):])
	}
	eventually(t, "the model has stopped them", func() bool {
		return s.modelMetric("requests", `,state="waiting"`) == 0 && s.modelMetric("requests", `,state="decode"`) == 1
	})
	if _, err := other.ReadString('\n'); err != nil {
		t.Errorf("another agent's stream: %v", err)
	}

	// While a long prompt is read.
	before := s.modelMetric("cancelled_total", `,phase="prefill"`)
	go await(agentBody("reads", "lead", strings.Repeat("word ", 7000)))
	eventually(t, "a prompt is read", func() bool { return s.modelMetric("requests", `,state="prefill"`) == 1 })
	if status, body := s.call("DELETE", "/dure/agents/lead"); status != 200 || !strings.Contains(body, `"cancelled":1,`) {
		t.Errorf("%d %s", status, body)
	}
	if got := <-ended; !strings.Contains(got, `"code":"agent_stopped"`) {
		t.Errorf("a request whose prompt was read ended with %.300s", got)
	}
	eventually(t, "the model has stopped it", func() bool { return s.modelMetric("cancelled_total", `,phase="prefill"`) == before+1 })
	if lag := s.modelMetric("cancel_steps_max", ""); lag > 1 || lag < 0 {
		t.Errorf("%g engine calls began between a cancel and its effect", lag)
	}
	s.checkAgents(t)
	if status, _ := s.call("DELETE", "/dure/agents/boss"); status != 200 {
		t.Errorf("status %d", status)
	}
	if status, body := s.call("DELETE", "/dure/agents/nobody"); status != 404 || !strings.Contains(body, "agent_not_found") {
		t.Errorf("%d %s", status, body)
	}
	// An agent that was stopped may be started again.
	c := decode(t, s.post(t.Context(), chatBody("What is the capital of France? Answer in one word.", `,"agent":"lead","max_tokens":8`)))
	if c.Error != nil || !strings.Contains(c.Choices[0].Message.Content, "Paris") {
		t.Errorf("%+v", c)
	}
}

// checkAgents looks at the list after the stops, with one request left.
func (s *server) checkAgents(t *testing.T) {
	t.Helper()
	_, body := s.call("GET", "/dure/agents")
	var list struct {
		Data []struct {
			ID, Parent string
			Running    int
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	parents, running := map[string]string{}, 0
	for _, a := range list.Data {
		parents[a.ID] = a.Parent
		running += a.Running
	}
	if len(parents) != 6 || parents["below"] != "waits" || parents["lead"] != "boss" || running != 1 {
		t.Errorf("%s", body)
	}
}

// A deadline that passes while the request waits is a status of its own.
func TestDeadlinePasses(t *testing.T) {
	s := startServer(t, "--context", "8192", "--sequences", "1", "--queue", "4")
	firstToken(t, s.post(t.Context(), chatBody("go on", endlessMore)))
	resp := s.post(t.Context(), chatBody("wait", `,"deadline_ms":50`))
	if c := decode(t, resp); resp.StatusCode != 504 || c.Error.Code != "deadline_exceeded" || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%s %+v", resp.Status, c.Error)
	}
	eventually(t, "nobody waits", func() bool { return s.modelMetric("requests", `,state="waiting"`) == 0 })
}

func TestCacheRoute(t *testing.T) {
	s := startServer(t, "--context", "2048", "--sequences", "2")
	for range 2 {
		decode(t, s.post(t.Context(), chatBody("What is the capital of France? Answer in one word.", `,"session":"s","max_tokens":8`)))
	}
	status, body := s.call("GET", "/dure/cache")
	var list struct {
		Data []struct {
			Model string
			Cache map[string]any
			Error string
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || len(list.Data) != 1 {
		t.Fatalf("%d %v %s", status, err, body)
	}
	if row := list.Data[0]; row.Model != "smollm2-135m" || row.Error != "" || row.Cache["hits"] == nil || row.Cache["ram"] == nil {
		t.Errorf("%s", body)
	}
}
