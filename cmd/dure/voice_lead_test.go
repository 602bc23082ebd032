package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/audio/realtime"
	"dure/audio/realtime/client"
	"dure/audio/turn"
	"dure/audio/voice"
	"dure/audio/voice/load"
	"dure/inference"
	"dure/inference/front"
	"dure/inference/openai"
	"dure/inference/openai/memory"
	"dure/runtime/control"
	"dure/runtime/swarm"
)

// voiceKeys knows "boss", who has the admin right, and "guest", who has not.
type voiceKeys struct{}

func (voiceKeys) Required() bool { return true }
func (voiceKeys) Identify(secret string) (front.Holder, error) {
	if secret != "boss" && secret != "guest" {
		return nil, front.Refuse(http.StatusUnauthorized, "invalid_api_key", "no such key")
	}
	return voiceHolder(secret), nil
}

type voiceHolder string

func (h voiceHolder) Name() string     { return string(h) }
func (h voiceHolder) Admin() bool      { return h == "boss" }
func (voiceHolder) Allows(string) bool { return true }
func (voiceHolder) Admit(string, inference.Priority, int64) (front.Visit, error) {
	return voiceVisit{}, nil
}

type voiceVisit struct{}

func (voiceVisit) Priority() inference.Priority { return "" }
func (voiceVisit) Settle(inference.Usage)       {}

// fastLoop is the model of the voice: it calls tools when it is asked to, and is no friend
// of the truth.
type fastLoop struct{}

func (fastLoop) List() []front.Listing {
	return []front.Listing{{Name: "fast", OwnedBy: "dure", Default: true, Context: 8192}}
}

func (fastLoop) Open(context.Context, string, time.Duration) (inference.Model, func(), error) {
	return fastLoop{}, func() {}, nil
}

func (fastLoop) Info() inference.Info { return inference.Info{Name: "fast", Context: 8192} }

func (fastLoop) Generate(_ context.Context, r *inference.Request) iter.Seq2[inference.Event, error] {
	last := r.Messages[len(r.Messages)-1]
	text, tool, args := "I am sure that they like it.", "", "{}"
	switch {
	case last.Role == inference.RoleTool && last.Name == "status":
		text = "Splendid: 97 of 98 tasks are done."
	case last.Role == inference.RoleTool:
		text = "So it is: " + last.Content + "."
	case strings.Contains(last.Content, "numbers"):
		tool = "status"
	case strings.Contains(last.Content, "approve"):
		tool = "approve_plan"
	case strings.Contains(last.Content, "whisper"):
		tool, args = "give_work", `{"text":"Add a function that whispers."}`
	}
	return func(yield func(inference.Event, error) bool) {
		if !yield(inference.Event{Kind: inference.EventStarted}, nil) {
			return
		}
		if tool != "" {
			_ = yield(inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{ID: "c1", Name: tool, Arguments: args}}, nil) &&
				yield(inference.Event{Kind: inference.EventDone, Finish: inference.FinishToolCalls, Usage: &inference.Usage{PromptTokens: 1, CompletionTokens: 1}}, nil)
			return
		}
		_ = yield(inference.Event{Kind: inference.EventText, Text: text}, nil) &&
			yield(inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: &inference.Usage{PromptTokens: 1, CompletionTokens: 1}}, nil)
	}
}

// leadServer is the server's API with its runs, and the voice process before it, with
// engines that take no time.
func leadServer(t *testing.T, home, said string) string {
	t.Helper()
	kept, err := memory.Open(home, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	responses := openai.NewResponses(kept, slog.New(slog.DiscardHandler))
	t.Cleanup(responses.Close)
	closing := make(chan struct{})
	api := httptest.NewServer(front.New(front.Options{Surfaces: []front.Surface{openai.Surface(responses)}, Models: fastLoop{}, Keys: voiceKeys{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Routes: swarmRoutes(swarmRuns(home), closing), Closing: closing}))
	t.Cleanup(func() { close(closing); api.Close() })
	var d net.Dialer
	v := &voiceServer{model: "fast", log: slog.New(slog.DiscardHandler), missing: errors.New("none"),
		api: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", api.Listener.Addr().String())
		}}}}
	rules := turn.DefaultRules()
	rules.ProgressEvery = 200 * time.Millisecond
	sound := httptest.NewServer(realtime.New(realtime.Options{Sessions: &voice.Sessions{}, Identify: v.identify, Model: "fast", Log: v.log,
		AllowOrigin: func(*http.Request) bool { return true },
		Prepare: func(r *http.Request, secret string, c turn.Config) (voice.Options, error) {
			c.TextOnly = true // or engines would be wanted
			o, err := v.prepare(r, secret, c)
			o.Config.TextOnly, o.Config.Detection, o.Rules = false, turn.DefaultDetection(), rules
			o.VAD, o.STT, o.TTS = &load.Detector{}, load.Recogniser{Text: said}, hasty{}
			return o, err
		}}).Handler())
	t.Cleanup(sound.Close)
	return sound.URL
}

// hasty is a voice that takes 5 ms for a character.
type hasty struct{}

func (hasty) Speak(_ context.Context, u voice.Utterance) iter.Seq2[voice.Chunk, error] {
	return func(yield func(voice.Chunk, error) bool) {
		yield(voice.Chunk{Rate: 24000, PCM: make([]float32, 120*len(u.Text))}, nil)
	}
}

// caller is the person on the phone.
type caller struct {
	t *testing.T
	c *client.Client
}

func (c *caller) next() *client.Event {
	c.t.Helper()
	e, err := c.c.Next()
	if err != nil {
		c.t.Fatal(err)
	}
	if e.Type == "error" {
		c.t.Fatalf("the server: %+v", e.Error)
	}
	return e
}

// hear gives what is said in the next answer that speaks, all of it; open does not wait for
// its end.
func (c *caller) hear(open bool) string {
	c.t.Helper()
	var text strings.Builder
	for {
		switch e := c.next(); e.Type {
		case "response.output_audio_transcript.delta":
			text.WriteString(e.Delta)
			if open {
				return text.String()
			}
		case "response.done":
			if d := e.Response.Details; e.Response.Status == "failed" && d != nil && d.Error != nil {
				c.t.Fatalf("no answer: %s", d.Error.Message)
			}
			if text.Len() > 0 {
				return strings.TrimSpace(text.String())
			}
		}
	}
}

func (c *caller) say(text string) {
	c.t.Helper()
	if err := c.c.Say(text); err != nil {
		c.t.Fatal(err)
	}
}

// A person on the phone with the lead agent of a team: gives work, interrupts, asks for
// progress and hears the truth, says stop, is asked, and only then it stops.
func TestVoiceLead(t *testing.T) {
	p := newPlayground(t)
	// One worker never ends, so that the run goes on until it is stopped.
	slow := strings.Replace(swarmScript, `{tool: done, arguments: {summary: "shouts"}}]`, `{tool: done, arguments: {summary: "shouts"}}]
        fault: {kind: stall}`, 1)
	if slow == swarmScript {
		t.Fatal("the script has changed")
	}
	if err := os.WriteFile(filepath.Join(p.dir, "script.yaml"), []byte(slow), 0o644); err != nil {
		t.Fatal(err)
	}
	run := p.dure("swarm/run", swarmBegin...)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() { _ = run.Process.Kill() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	team := control.Dial(filepath.Join(p.dir, "swarm", "run", teamSocket))
	waitForPlan(ctx, t, team, ended, &out)
	at := leadServer(t, p.dir, "How far are you?")
	dial := func(key, name string) (*client.Client, error) {
		return client.Dial(ctx, client.Options{URL: at, Key: key, Query: url.Values{"lead": {name}}})
	}
	for _, refused := range []struct {
		key, run, code string
		status         int
	}{{"guest", "run", "admin_key_required", 403}, {"boss", "walk", "run_not_found", 404}} {
		_, err := dial(refused.key, refused.run)
		var no *client.Refused
		if !errors.As(err, &no) || no.Code != refused.code || no.Status != refused.status {
			t.Errorf("%s for %s: %v", refused.key, refused.run, err)
		}
	}
	c, err := dial("boss", "run")
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { c.Close() })
	defer c.Close()
	person := &caller{t, c}
	goesOn := func(after string) control.View {
		t.Helper()
		v, err := team.View(ctx)
		if err != nil || v.Finished != nil {
			t.Fatalf("the run does not go on after %s: %v %+v", after, err, v.Finished)
		}
		return v
	}

	person.say("How is it going?")
	if got := person.hear(false); !strings.Contains(got, "The plan of 4 tasks waits for your approval.") {
		t.Errorf("heard %q", got)
	}
	person.say("How far is noeter?") // as a recogniser spells it
	if got := person.hear(false); !strings.Contains(got, "noether leads the team.") || !strings.Contains(got, "noether says: All are planned.") {
		t.Errorf("heard %q", got)
	}
	person.say("Do they like the plan?")
	if got := person.hear(false); !strings.Contains(got, "I am sure") {
		t.Errorf("heard %q", got)
	}
	person.say("Good, I approve it.")
	if got := person.hear(true); !strings.Contains(got, "So it is") && !strings.Contains(got, "One moment") {
		t.Errorf("heard %q", got)
	}
	// The turn stays open; what is told of the run is true when it is told.
	for told := ""; !strings.Contains(told, "3 of 4 tasks done"); {
		if e := person.next(); e.Type == "response.output_audio_transcript.delta" {
			told = e.Delta
		}
	}
	v := goesOn("progress")
	if n := doneTasks(v); n != 3 {
		t.Fatalf("told 3 of 4, and %d are done", n)
	}
	// Speech interrupts; the work goes on, and the question is answered.
	loud := make([]float32, 24000)
	for i := range loud {
		loud[i] = float32(0.3 * math.Sin(float64(i)/7))
	}
	for _, piece := range [][]float32{loud, make([]float32, 24000)} {
		if err := c.Append(piece); err != nil {
			t.Fatal(err)
		}
	}
	if got := person.hear(false); !strings.Contains(got, "So far 3 of 4 tasks done, 1 at work.") {
		t.Errorf("heard %q", got)
	}
	goesOn("an interruption")
	person.say("Give me the numbers.") // the model lies
	if got := person.hear(false); !strings.Contains(got, "So far 3 of 4 tasks done") || strings.Contains(got, "97") {
		t.Errorf("heard %q", got)
	}
	person.say("Please have them whisper too.")
	if got := person.hear(false); !strings.Contains(got, "given to noether") {
		t.Errorf("heard %q", got)
	}
	for _, answer := range []string{"No, go on.", "Yes."} {
		person.say("Stop.")
		if got := person.hear(false); !strings.Contains(got, "3 of 4 tasks done.") || !strings.Contains(got, "Shall I really stop the whole run?") {
			t.Fatalf("heard %q", got)
		}
		goesOn("the question")
		person.say(answer)
		got := person.hear(false)
		if answer == "Yes." {
			if !strings.Contains(got, "I stopped it.") {
				t.Errorf("heard %q", got)
			}
			break
		}
		if !strings.Contains(got, "the work goes on") {
			t.Errorf("heard %q", got)
		}
		goesOn("no")
	}
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatalf("the run was not stopped\n%s", out.String())
	}
	log := runLog(t, filepath.Join(p.dir, "swarm", "run"))
	defer log.Close()
	steered, stopped := "", ""
	for e, err := range log.Read(t.Context(), swarm.Stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if s, err := swarm.Events.Steered.Decode(e); e.Type == swarm.Events.Steered.Name() && err == nil {
			steered = fmt.Sprint(s.Agent, " ", s.By, ": ", s.Text)
		}
		if f, err := swarm.Events.Finished.Decode(e); e.Type == swarm.Events.Finished.Name() && err == nil {
			stopped = fmt.Sprint(f.Finish, " ", f.By)
		}
	}
	if steered != "noether boss: Add a function that whispers." || stopped != "stopped boss" {
		t.Errorf("the log has %q and %q", steered, stopped)
	}
}

func doneTasks(v control.View) (n int) {
	for _, task := range v.Tasks {
		if task.Outcome == swarm.Done {
			n++
		}
	}
	return n
}
