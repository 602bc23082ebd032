package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

// crashLoad are clients that go on with their conversations, whatever happens to
// the server.
type crashLoad struct {
	t     *testing.T
	talks []*crashTalk
	ended sync.WaitGroup
	quit  chan struct{}
	cut   atomic.Int64 // requests that a kill ended

	mu      sync.Mutex
	url     string        // empty while there is no server
	changed chan struct{} // closed when url is another
	turns   []crashTurn
}

const crashTalks = 7

func startCrashLoad(t *testing.T, url string, seed uint64) *crashLoad {
	l := &crashLoad{t: t, url: url, quit: make(chan struct{}), changed: make(chan struct{})}
	t.Cleanup(l.stop)
	for i := range crashTalks {
		k := &crashTalk{id: i, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		k.renew()
		l.talks = append(l.talks, k)
		l.ended.Go(func() { l.goOn(k) })
	}
	return l
}

func (l *crashLoad) stop() {
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	l.ended.Wait()
}

// moved tells the clients where the server is now; empty for nowhere.
func (l *crashLoad) moved(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.url = url
	close(l.changed)
	l.changed = make(chan struct{})
}

// where waits for a server; empty when the load is to end.
func (l *crashLoad) where() string {
	for {
		l.mu.Lock()
		url, changed := l.url, l.changed
		l.mu.Unlock()
		if url != "" {
			return url
		}
		select {
		case <-changed:
		case <-l.quit:
			return ""
		}
	}
}

// take returns what was answered since it was last called.
func (l *crashLoad) take() []crashTurn {
	l.mu.Lock()
	defer l.mu.Unlock()
	turns := l.turns
	l.turns = nil
	return turns
}

func (l *crashLoad) goOn(k *crashTalk) {
	for {
		// An agent runs a tool.
		wait := time.NewTimer(time.Duration(k.rng.IntN(600)) * time.Millisecond)
		select {
		case <-wait.C:
		case <-l.quit:
			wait.Stop()
			return
		}
		url := l.where()
		if url == "" {
			return
		}
		turn, again, err := k.turn(url)
		switch {
		case err != nil:
			l.t.Errorf("session %s: %v", k.session(), err)
			return
		case again:
			l.cut.Add(1)
		default:
			l.mu.Lock()
			l.turns = append(l.turns, turn)
			l.mu.Unlock()
		}
	}
}

// crashTalk is one conversation after the other, all of which begin alike. One
// goroutine at a time is in it.
type crashTalk struct {
	id, nth  int
	rng      *rand.Rand
	messages []crashMessage
	pending  bool // the last message has no answer yet
	tokens   int
	last     bool // it is not to begin anew any more
}

type crashMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// crashTurn is an answer.
type crashTurn struct {
	session string
	prompt  string // rendered
	tokens  []engine.Token
	top     []map[engine.Token]float64
	usage   crashUsage
}

type crashUsage struct {
	Prompt  int `json:"prompt_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Dure struct{ Tier, Reason string }
}

func (k *crashTalk) session() string { return fmt.Sprintf("%d-%d", k.id, k.nth) }

func (k *crashTalk) renew() {
	k.nth++
	k.pending, k.tokens = false, 0
	k.messages = []crashMessage{{"system", strings.Repeat("You are one of a team, and you answer in numbers. ", 5)}}
}

// say is what the next question is.
func (k *crashTalk) say() string {
	words := make([]string, 3+k.rng.IntN(12))
	for i := range words {
		words[i] = fmt.Sprintf("%c%d", 'a'+k.rng.IntN(26), k.rng.IntN(100))
	}
	return fmt.Sprintf("%s: %s", k.session(), strings.Join(words, " "))
}

// turn asks the next question, or the last one again. again says that the server
// or its runner went away.
func (k *crashTalk) turn(url string) (turn crashTurn, again bool, err error) {
	if !k.pending {
		if !k.last && (k.tokens > 600 || k.rng.IntN(20) == 0) {
			k.renew()
		}
		k.messages, k.pending = append(k.messages, crashMessage{"user", k.say()}), true
	}
	bias := map[string]int{}
	for d := '0'; d <= '9'; d++ { // digits never merge: an answer comes back as the same tokens
		bias[fmt.Sprint(synth.FirstByteToken+d)] = 100
	}
	body, err := json.Marshal(map[string]any{"messages": k.messages, "session": k.session(), "temperature": 0, "max_tokens": 3 + k.rng.IntN(8),
		"logprobs": true, "top_logprobs": 5, "logit_bias": bias, "next": "waiting"})
	if err != nil {
		return turn, false, err
	}
	resp, err := http.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return turn, true, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return turn, true, nil
	}
	var a crashAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return turn, false, fmt.Errorf("%s: %w in %.300s", resp.Status, err, data)
	}
	switch {
	case a.Error != nil && (a.Error.Code == "runner_lost" || a.Error.Code == "shutting_down"):
		return turn, true, nil
	case len(a.Choices) != 1:
		return turn, false, fmt.Errorf("%s: %.300s", resp.Status, data)
	}
	return k.answered(a)
}

type crashAnswer struct {
	Choices []struct {
		Message  crashMessage
		Logprobs struct {
			Content []struct {
				crashToken
				Top []crashToken `json:"top_logprobs"`
			}
		}
	}
	Usage crashUsage
	Error *struct{ Code string }
}

type crashToken struct {
	Logprob float64
	Bytes   []int
}

func (k *crashTalk) answered(a crashAnswer) (turn crashTurn, again bool, err error) {
	c := a.Choices[0]
	turn = crashTurn{session: k.session(), prompt: rendered(k.messages), usage: a.Usage}
	for _, t := range c.Logprobs.Content {
		if len(t.Bytes) != 1 || t.Bytes[0] < '0' || t.Bytes[0] > '9' {
			return turn, false, fmt.Errorf("token %v is no digit", t.Bytes)
		}
		top := map[engine.Token]float64{}
		for _, o := range append(t.Top, t.crashToken) {
			if len(o.Bytes) == 1 { // those can be told from their bytes
				top[engine.Token(synth.FirstByteToken+o.Bytes[0])] = o.Logprob
			}
		}
		turn.tokens, turn.top = append(turn.tokens, engine.Token(synth.FirstByteToken+t.Bytes[0])), append(turn.top, top)
	}
	if len(turn.tokens) == 0 || len(turn.tokens) != len(c.Message.Content) {
		return turn, false, fmt.Errorf("%d tokens for %q", len(turn.tokens), c.Message.Content)
	}
	k.messages, k.pending, k.tokens = append(k.messages, crashMessage{"assistant", c.Message.Content}), false, a.Usage.Prompt
	return turn, false, nil
}

// rendered is what the template makes of messages.
func rendered(messages []crashMessage) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "<|im_start|>%s\n%s<|im_end|>\n", m.Role, m.Content)
	}
	return b.String() + "<|im_start|>assistant\n"
}

// coldReader reads prompts in one go, in a context in which nothing is kept.
type coldReader struct {
	t     *testing.T
	model *engine.Model
	ctx   *engine.Context
	batch *engine.Batch
	worst float64
}

func newColdReader(t *testing.T, path string) *coldReader {
	t.Helper()
	c := &coldReader{t: t, model: enginetest.Load(t, path)}
	var err error
	if c.ctx, err = c.model.NewContext(engine.ContextOptions{Cells: 1024, Sequences: 1, Batch: 1024, MicroBatch: 256, Outputs: 16, Threads: 1,
		FlashAttention: engine.FlashOff, Unified: true}); err != nil {
		t.Fatal(err)
	}
	c.batch = c.ctx.NewBatch()
	t.Cleanup(func() {
		if err := c.batch.Close(); err != nil {
			t.Error(err)
		}
		if err := c.ctx.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// compare proves an answer: each of its tokens had the probabilities that it has
// when all before it is read anew.
func (c *coldReader) compare(turn crashTurn) {
	c.t.Helper()
	prompt, err := c.model.Tokenize(c.t.Context(), turn.prompt, true, true)
	if err != nil {
		c.t.Fatal(err)
	}
	if len(prompt) != turn.usage.Prompt {
		c.t.Fatalf("session %s: a prompt of %d tokens, %d here: %q", turn.session, turn.usage.Prompt, len(prompt), turn.prompt)
	}
	all := append(prompt, turn.tokens[:len(turn.tokens)-1]...)
	c.batch.Reset()
	for p, t := range all {
		if err := c.batch.Add(t, p, 0, p >= len(prompt)-1); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.ctx.Decode(c.batch); err != nil {
		c.t.Fatal(err)
	}
	for i, top := range turn.top {
		logits, err := c.ctx.Logits(len(prompt) - 1 + i)
		if err != nil {
			c.t.Fatal(err)
		}
		c.near(turn, i, logits, top)
	}
	if err := c.ctx.Remove(0, engine.All, engine.All); err != nil {
		c.t.Fatal(err)
	}
}

// near compares log probabilities: of other tokens before they would differ by
// far more.
func (c *coldReader) near(turn crashTurn, i int, logits []float32, top map[engine.Token]float64) {
	c.t.Helper()
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l))
	}
	for token, got := range top {
		d := math.Abs(float64(logits[token]) - math.Log(sum) - got)
		if c.worst = max(c.worst, d); !(d < 1e-2) {
			c.t.Errorf("session %s, %d tokens reused from %q: token %d of the answer differs by %g", turn.session, turn.usage.Details.Cached, turn.usage.Dure.Tier, i, d)
		}
	}
}
