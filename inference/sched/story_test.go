package sched

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestStories plays testdata/*.txt. A line is a call and, where it answers, what
// the answer must be; # begins a comment. Prompts are written as spans, name:length:
// the same name and length mean the same tokens.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d stories, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			st := &story{}
			for i, line := range strings.Split(string(text), "\n") {
				line, _, _ = strings.Cut(line, "#")
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				if err := st.play(line); err != nil {
					t.Fatalf("%s:%d: %s: %v", file, i+1, line, err)
				}
			}
		})
	}
}

type story struct {
	s   *Scheduler
	now Tick
}

// args of a line: plain words, key=value pairs, and what follows "->".
type args struct {
	words []string
	pairs map[string]string
	want  string
	err   error
}

func parse(line string) (verb string, a args) {
	line, want, _ := strings.Cut(line, "->")
	a = args{pairs: map[string]string{}, want: strings.TrimSpace(want)}
	for _, f := range strings.Fields(line) {
		if k, v, ok := strings.Cut(f, "="); ok {
			a.pairs[k] = v
		} else {
			a.words = append(a.words, f)
		}
	}
	return a.words[0], a
}

func (a *args) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	a.err = fmt.Errorf("word %d is missing", i)
	return ""
}

func (a *args) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		a.err = err
	}
	return n
}

func (a *args) id() ID { return ID(a.number(a.word(1))) }

func (a *args) int(key string) int {
	if text, ok := a.pairs[key]; ok {
		return a.number(text)
	}
	return 0
}

func (a *args) tick(key string) Tick {
	text, ok := a.pairs[key]
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		a.err = err
	}
	return Tick(d)
}

func (a *args) ints(key string) (out []int) {
	if text, ok := a.pairs[key]; ok {
		for part := range strings.SplitSeq(text, ",") {
			out = append(out, a.number(part))
		}
	}
	return out
}

// spans makes the tokens of "trunk:100,task:50".
func (a *args) spans(text string) (out []Token) {
	for part := range strings.SplitSeq(text, ",") {
		name, length, _ := strings.Cut(part, ":")
		out = append(out, words(name, a.number(length))...)
	}
	return out
}

// words makes n tokens that are the same for the same name.
func words(name string, n int) []Token {
	h := uint32(2166136261)
	for _, c := range []byte(name) {
		h = (h ^ uint32(c)) * 16777619
	}
	out := make([]Token, n)
	for i := range out {
		h = h*1664525 + 1013904223
		out[i] = Token(h >> 8)
	}
	return out
}

var classes = []string{"interactive", "planner", "merge", "worker", "background"}

func (st *story) play(line string) error {
	verb, a := parse(line)
	if st.s == nil && verb != "limits" {
		return errors.New("a story begins with its limits")
	}
	got := ""
	switch verb {
	case "limits":
		s, err := New(Limits{
			Slots: a.int("slots"), Queue: a.int("queue"), Chunk: a.int("chunk"), MinChunk: a.int("minchunk"), Gap: a.tick("gap"),
			Age: a.tick("age"), Group: a.int("group"), Checkpoints: slices.Contains(a.words, "checkpoints"),
		})
		if err != nil {
			return err
		}
		st.s = s
	case "at":
		d, err := time.ParseDuration(a.word(1))
		if err != nil {
			return err
		}
		st.now = Tick(d)
	case "run":
		st.run(a.number(a.word(1)))
	case "count":
		got = st.count(&a)
	default:
		var err error
		if got, err = st.call(verb, &a); err != nil {
			return err
		}
	}
	if a.err != nil {
		return a.err
	}
	if got != a.want {
		return fmt.Errorf("got %q", got)
	}
	return st.s.Check()
}

func (st *story) call(verb string, a *args) (got string, err error) {
	s, now := st.s, st.now
	on := len(a.words) > 2 && a.words[2] == "on"
	switch verb {
	case "add":
		err := s.Add(now, Request{
			ID: a.id(), Tokens: a.spans(a.pairs["prompt"]), Agent: uint64(a.int("agent")), Deadline: a.tick("deadline"),
			Priority: Priority(slices.Index(classes, a.word(2))), Cached: a.int("cached"),
		})
		if errors.Is(err, ErrQueueFull) {
			return "queue full", nil
		}
		return "", err
	case "candidate":
		return name(s.Candidate(now)), nil
	case "admit":
		return "", s.Admit(now, a.id(), a.int("slot"), a.int("reuse"), a.ints("stops"))
	case "full":
		return name(s.Full(now, a.id())), nil
	case "preempt":
		return name(s.Preempt(now)), nil
	case "victim":
		return name(s.Victim(now, ID(a.int("except")))), nil
	case "park":
		return "", s.Park(now, a.id(), a.spans(a.pairs["prompt"]))
	case "remove":
		return strconv.Itoa(s.Remove(now, a.id())), nil
	case "hold":
		s.Hold(a.id(), on)
	case "block":
		s.Block(a.id(), on)
	case "room":
		s.Room()
	case "read":
		s.Read(a.id(), a.number(a.word(2)), a.tick("took"))
	case "decoded":
		s.Decoded(a.number(a.word(1)), a.tick("took"))
	case "cost":
		s.cost.read(s.limits, a.int("from"), a.int("tokens"), a.tick("took"))
	case "next":
		return s.Next(now).String(), nil
	case "expired":
		return fmt.Sprint(s.Expired(now)), nil
	case "until":
		if at, ok := s.WaitUntil(now); ok {
			return time.Duration(at).String(), nil
		}
		return "never", nil
	default:
		return "", fmt.Errorf("unknown call %q", verb)
	}
	return "", nil
}

// run carries out n steps; prompts are read, the streams decode.
func (st *story) run(n int) {
	for range n {
		step := st.s.Next(st.now)
		st.s.Decoded(len(step.Decode), 0)
		st.s.Read(step.Prefill.ID, step.Prefill.N, 0)
	}
}

// count compares the fields of Counts that the line names.
func (st *story) count(a *args) string {
	c := reflect.ValueOf(st.s.Counts(st.now))
	for key, want := range a.pairs {
		if f := c.FieldByName(key); !f.IsValid() || fmt.Sprint(f) != want {
			return fmt.Sprintf("%s=%v", key, f)
		}
	}
	return ""
}

func name(id ID, ok bool) string {
	if !ok {
		return "nobody"
	}
	return fmt.Sprint(id)
}

// String is how stories write a step: "1 2 | 3: 64+16 last stop" is one row each of
// requests 1 and 2, and the tokens 64 to 79 of request 3's prompt.
func (s Step) String() string {
	out := ""
	for _, r := range s.Decode {
		out += fmt.Sprint(r.ID, " ")
	}
	out += "|"
	if c := s.Prefill; c.N > 0 {
		out += fmt.Sprintf(" %d: %d+%d", c.ID, c.From, c.N)
		if c.Last {
			out += " last"
		}
		if c.Stop {
			out += " stop"
		}
	}
	return out
}
