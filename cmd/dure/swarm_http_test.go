package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/openai"
	"dure/inference/openai/memory"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/replay"
	"dure/runtime/report"
	"dure/runtime/swarm"
)

// swarmServer is a server with the routes of teams, for the runs of a DURE_HOME.
func swarmServer(t *testing.T, home string) (url string) {
	t.Helper()
	kept, err := memory.Open(t.TempDir(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	responses := openai.NewResponses(kept, slog.New(slog.DiscardHandler))
	t.Cleanup(responses.Close)
	closing := make(chan struct{})
	h := front.New(front.Options{
		Models: &fronttest.Models{}, Surfaces: []front.Surface{openai.Surface(responses)}, Keys: fronttest.OneKey("k"),
		Pool: idle{}, Routes: swarmRoutes(swarmRuns(home), closing), Closing: closing,
	})
	server := httptest.NewUnstartedServer(nil)
	server.Config = front.NewServer(h, slog.New(slog.DiscardHandler))
	server.Start()
	t.Cleanup(func() { close(closing); server.Close() })
	return server.URL
}

// followed is what a reader of a run's events got.
type followed struct {
	ids   []string
	types []string
	end   control.End
	// broken is what the server says of a stream that it cannot go on with.
	broken string
	err    error
}

// follow reads a stream to its end, or so many events of it.
func follow(ctx context.Context, url, after string, most int) (f followed) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return followed{err: err}
	}
	req.Header.Set("Authorization", "Bearer k")
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return followed{err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b, _ := io.ReadAll(resp.Body)
		return followed{err: fmt.Errorf("%d: %s", resp.StatusCode, b)}
	}
	lines, id, kind := bufio.NewReader(resp.Body), "", ""
	for len(f.types) < most {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.err = err
			}
			return f
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			if kind == "error" {
				f.broken = value
				continue
			}
			if kind == "end" {
				f.err = json.Unmarshal([]byte(value), &f.end)
				continue
			}
			var told control.Told
			if err := json.Unmarshal([]byte(value), &told); err != nil || fmt.Sprint(told.Position) != id || told.Type != kind {
				f.err = fmt.Errorf("id %s, event %s: %v %s", id, kind, err, value)
				return f
			}
			f.ids, f.types = append(f.ids, id), append(f.types, kind)
		}
	}
	return f
}

// A real run over HTTP: followed twice from the start while it goes on, approved, asked,
// followed again from the middle; both followers see each event once, and the end.
func TestSwarmOverHTTP(t *testing.T) {
	p := newPlayground(t)
	home := p.dir
	url := swarmServer(t, home) + "/v1/dure/swarms"
	if status, body := ask(t, "GET", url, ""); status != 200 || string(body) != `{"object":"list","data":[]}`+"\n" {
		t.Errorf("no run yet: %d %s", status, body)
	}
	run := p.dure("swarm/three", swarmBegin...)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	waitForPlan(p.ctx, t, control.Dial(filepath.Join(home, "swarm/three", teamSocket)), ended, &out)
	followers := make(chan followed, 2)
	for range 2 {
		go func() { followers <- follow(p.ctx, url+"/three/events", "", 1<<30) }()
	}
	half := follow(p.ctx, url+"/three/events?stream=swarm", "", 2)
	if half.err != nil || !slices.Equal(half.types, []string{"swarm.started", "task.submitted"}) {
		t.Errorf("the run's own events: %+v", half)
	}
	state := func() (s control.Status) {
		status, body := ask(t, "GET", url+"/three", "")
		if err := json.Unmarshal(body, &s); err != nil || status != 200 {
			t.Fatalf("%d %v: %.300s", status, err, body)
		}
		return s
	}
	if s := state(); s.State != control.Approval || s.Run == nil || len(s.Run.Tasks) != 5 || s.Accounts == nil || s.Accounts.Run.Calls == 0 {
		t.Errorf("before the plan is approved: %+v", s)
	}
	p.hostileOrders(url)
	if status, body := ask(t, "POST", url+"/three/ask", `{"agent":"noether","text":"How far are you?"}`); status != 200 || !strings.Contains(string(body), "All are planned.") {
		t.Errorf("asked: %d %s", status, body)
	}
	if status, body := ask(t, "POST", url+"/three/approve", `{"text":"go"}`); status != 200 || !strings.Contains(string(body), `"approved":"`) {
		t.Fatalf("approved: %d %s", status, body)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	first, second := <-followers, <-followers
	if first.err != nil || second.err != nil || !slices.Equal(first.ids, second.ids) || first.end.State != control.Finished {
		t.Errorf("two followers: %v %v, %d and %d events, end %+v", first.err, second.err, len(first.ids), len(second.ids), first.end)
	}
	for i, id := range first.ids {
		if id != fmt.Sprint(i+1) {
			t.Fatalf("event %d is %s", i+1, id)
		}
	}
	last := first.ids[len(first.ids)-1]
	rest := follow(p.ctx, url+"/three/events", first.ids[len(first.ids)-4], 1<<30)
	if rest.err != nil || !slices.Equal(rest.ids, first.ids[len(first.ids)-3:]) {
		t.Errorf("resumed near the end: %+v", rest)
	}
	if none := follow(p.ctx, url+"/three/events?after="+last, "", 1<<30); none.err != nil || len(none.ids) != 0 || none.end.State != control.Finished {
		t.Errorf("resumed at the end: %+v", none)
	}
	if s := state(); s.State != control.Finished || s.Accounts == nil || s.Accounts.Run.Calls == 0 {
		t.Errorf("at rest: %+v", s)
	}
	p.wholeReplay("swarm/three")
	p.acceptedRun(url)
	p.damagedRun(url)
}

// hostileOrders are refused, and change nothing.
func (p playground) hostileOrders(url string) {
	p.t.Helper()
	for request, want := range map[string]int{
		"GET /none": 404, "GET /none/events": 404, "GET /..%2f..%2fetc": 404, "GET /three/events?after=x": 400, "GET /three/events?after=99999999": 400,
		"GET /three/events?stream=%00": 400, "POST /none/approve {}": 404, "POST /three/answer {}": 400, "POST /three/park {\"task\":\"t2\"}": 400,
		"POST /three/reject": 400, "POST /three/approve []": 400, "POST /three/approve {\"by\":\"root\"}": 400, "POST /three/approve {} {}": 400,
		"POST /three/approve null": 400, "POST /three/kill {\"agent\":\"nobody\"}": 409, "POST /three/answer {\"question\":\"q9\",\"text\":\"x\"}": 409,
		"POST /three/resume {}": 409, "POST /three/explode {}": 405, "DELETE /three": 405,
	} {
		parts := strings.SplitN(request, " ", 3)
		body := ""
		if len(parts) == 3 {
			body = parts[2]
		}
		status, answer := ask(p.t, parts[0], url+parts[1], body)
		if status != want {
			p.t.Errorf("%s: %d, want %d: %.300s", request, status, want, answer)
			continue
		}
		wantTyped(p.t, request, "/v1/dure", status, answer)
	}
	if status, _ := ask(p.t, "POST", url+"/three/approve", "{}", "Authorization", "Bearer wrong"); status != 401 {
		p.t.Errorf("approved with a wrong key: %d", status)
	}
}

// wholeReplay: rows 19 and 35. The log folds into what the run had, to the last event.
func (p playground) wholeReplay(folder string) {
	p.t.Helper()
	log, err := readLog(p.t.Context(), filepath.Join(p.dir, folder, teamLog))
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	var finished bool
	r, err := replay.Play(p.t.Context(), log, replay.Until{}, func(_ event.Event, s *swarm.State) error {
		finished = s.Finished() != nil
		return nil
	})
	if err != nil || !r.Whole || r.Compared != r.Run || r.Open != 0 || r.Run < 20 || !finished {
		p.t.Errorf("replayed %+v, finished %v: %v", r, finished, err)
	}
	text, err := p.dure(folder, "replay").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "the last one included") || !strings.Contains(string(text), "The official check passes on main") {
		p.t.Errorf("replay: %v\n%s", err, text)
	}
	if text, err := p.dure(folder, "replay", "--until", "plan.drafted", "--json").CombinedOutput(); err != nil || !strings.Contains(string(text), `"whole":false`) || strings.Contains(string(text), "task.landed") {
		p.t.Errorf("replay to the plan: %v\n%s", err, text)
	}
}

// acceptedRun: what a person took is in the list and the report.
func (p playground) acceptedRun(url string) {
	p.t.Helper()
	if text, err := p.dure("swarm/three", "accept").CombinedOutput(); err != nil {
		p.t.Fatalf("accept: %v\n%s", err, text)
	}
	if status, body := ask(p.t, "GET", url, ""); status != 200 || !strings.Contains(string(body), `"state":"accepted"`) {
		p.t.Errorf("the list: %d %s", status, body)
	}
	text, err := p.dure("swarm/three", "report", "--json").Output()
	var r report.Report
	if err != nil || json.Unmarshal(text, &r) != nil {
		p.t.Fatalf("report: %v\n%s", err, text)
	}
	if r.Plan == "" || r.Approved == "" || r.Accepted == nil || r.Accepted.Branch != "dure/three-functions" {
		p.t.Errorf("plan %q, approved %q, accepted %+v", r.Plan, r.Approved, r.Accepted)
	}
	// Row 61: sizes for a result.
	if r.Size.Files != 3 || r.Size.Bytes == 0 || r.Goals.Proved == 0 || r.PerGoal != r.Size.Bytes/int64(r.Goals.Proved) {
		p.t.Errorf("sizes: %+v, %d for each of %d goals", r.Size, r.PerGoal, r.Goals.Proved)
	}
	for _, task := range r.Tasks {
		if task.Summary == "" || task.Times.Worked == 0 || task.Kind != swarm.KindPlan && task.Main != "" && task.Size.Bytes == 0 {
			p.t.Errorf("task %+v", task)
		}
	}
	page := filepath.Join(p.dir, "page.html")
	if text, err := p.dure("swarm/three", "report", "--out", page).CombinedOutput(); err != nil {
		p.t.Fatalf("report: %v\n%s", err, text)
	}
	html, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(html, []byte("add, twice after it, and two for greet</pre>")) || !bytes.Contains(html, []byte("goals proved: 4</figcaption>")) {
		p.t.Errorf("the page: %v\n%s", err, html)
	}
	for _, from := range []string{"src=", "href=", "url(", "@import", "<script", "http:", "https:"} {
		if bytes.Contains(html, []byte(from)) {
			p.t.Errorf("the page asks for something: %s", from)
		}
	}
	end := r.Curve[len(r.Curve)-1]
	if end.Score != r.Goals.Proved || end.Lead+end.Planner+end.Worker+end.Judge+end.Merger != end.Tokens || end.Bytes != r.Size.Bytes || end.Lead == 0 || end.Merger == 0 {
		p.t.Errorf("the curve's end: %+v", end)
	}
}

// damagedRun: a bit that turned over in an event is noticed by whoever reads the log, the
// event is named, and the run does not go on.
func (p playground) damagedRun(url string) {
	p.t.Helper()
	file := filepath.Join(p.dir, "swarm/three", teamLog)
	b, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	bend := func(text string) {
		at := bytes.Index(b, []byte(text))
		if at < 0 {
			p.t.Fatalf("%s is not in the file", text)
		}
		b[at+len(text)-2] ^= 1
		if err := os.WriteFile(file, b, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	bend(`"summary":"twice.sh"`) // what an agent said
	for _, args := range [][]string{{"status"}, {"replay"}, {"run"}, {"report"}, {"accept", "--branch", "again"}} {
		text, err := p.dure("swarm/three", args...).CombinedOutput()
		if err == nil || !strings.Contains(string(text), "the log is damaged") || !strings.Contains(string(text), "at position ") {
			p.t.Errorf("%v of a damaged log: %v\n%s", args, err, text)
		}
	}
	bend(`"epoch":2,"summary":"All are on main."`) // the run's own
	if status, body := ask(p.t, "GET", url, ""); status != 200 || !strings.Contains(string(body), `"state":"damaged"`) {
		p.t.Errorf("the list: %d %s", status, body)
	}
	status, body := ask(p.t, "GET", url+"/three", "")
	if status != http.StatusConflict || !strings.Contains(string(body), "run_damaged") {
		p.t.Errorf("one: %d %s", status, body)
	}
	if got := follow(p.ctx, url+"/three/events", "", 1<<30); got.err != nil || len(got.ids) == 0 || got.end.State != "" || !strings.Contains(got.broken, "run_damaged") {
		p.t.Errorf("followed to the damage: %+v", got)
	}
}

// A reader that does not read loses its place, and nobody waits for it. The run is killed
// while it is followed: the stream ends and says that it is at rest.
func TestFollowerOfAKilledRun(t *testing.T) {
	p := newPlayground(t)
	url := swarmServer(t, p.dir) + "/v1/dure/swarms/three"
	run := p.dure("swarm/three", append(slices.Clone(swarmBegin), "--max-tokens", "100000", "--max-cost", "2", "--time", "3h")...)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	waitForPlan(p.ctx, t, control.Dial(filepath.Join(p.dir, "swarm/three", teamSocket)), ended, &out)
	req, err := http.NewRequestWithContext(p.ctx, "GET", url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	slow, err := http.DefaultClient.Do(req) // and never reads
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Body.Close()
	told := make(chan followed, 1)
	go func() { told <- follow(p.ctx, url+"/events", "", 1<<30) }()
	if f := follow(p.ctx, url+"/events", "", 10); f.err != nil || len(f.ids) != 10 {
		t.Errorf("beside a reader that does not read: %+v", f)
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	select {
	case f := <-told:
		if f.err != nil || f.end.State != control.AtRest || len(f.ids) < 10 {
			t.Errorf("followed to a kill: %v %+v, %d events", f.err, f.end, len(f.ids))
		}
	case <-time.After(time.Minute):
		t.Fatal("the stream goes on though nobody runs the run")
	}
	if status, body := ask(t, "POST", url+"/approve", "{}"); status != http.StatusConflict || !strings.Contains(string(body), "nobody runs three") {
		t.Errorf("approved what nobody runs: %d %s", status, body)
	}
	for _, want := range []string{"at rest: waiting for approval\n", " of 100,000 (", "cost: $0", " of $2.000000 (0 %)", " of 3h0m0s left", "5 of 2500 tasks; 0 landed, 0 conflicts"} {
		if text, err := p.dure("swarm/three", "status").CombinedOutput(); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("status has no %q: %v\n%s", want, err, text)
		}
	}
	if text, err := p.dure("swarm/three", "list").CombinedOutput(); err != nil || !strings.Contains(string(text), "at rest (waiting for approval)") {
		t.Errorf("list: %v\n%s", err, text)
	}
}
