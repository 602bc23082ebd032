package llm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dure/inference"
	"dure/inference/engine"
)

func conversation(contents ...string) []inference.Message {
	var out []inference.Message
	for i, c := range contents {
		role := []string{inference.RoleUser, inference.RoleAssistant}[i%2]
		out = append(out, inference.Message{Role: role, Content: c})
	}
	return out
}

// Each message's name depends on everything up to it, on nothing behind it, and
// not on the white space around answers.
func TestNamesOfConversations(t *testing.T) {
	base := conversation("q", "a", "q2", "a2")
	of := names(conversationBegin, base)
	for i := range base {
		for j := range i {
			if of[i] == of[j] {
				t.Errorf("messages %d and %d have one name", i, j)
			}
		}
		if got := names(conversationBegin, base[:i+1])[i]; got != of[i] {
			t.Errorf("the name of message %d depends on what follows", i)
		}
	}
	if got := names(conversationBegin, conversation("q", " a\n", "q2", "\t a2"))[3]; got != of[3] {
		t.Error("white space around answers counts")
	}
	for name, other := range map[string][]inference.Message{
		"white space around a question": conversation("q ", "a", "q2", "a2"),
		"white space in an answer":      conversation("q", "a", "q2", "a 2"),
		"an edit":                       conversation("Q", "a", "q2", "a2"),
		"a removal":                     base[1:],
		"moved text":                    conversation("qa", "", "q2", "a2"),
		"another order":                 conversation("q2", "a2", "q", "a"),
		"none":                          conversation("", "", "", ""),
	} {
		all := names(conversationBegin, other)
		if all[len(all)-1] == of[3] {
			t.Errorf("%s changes nothing", name)
		}
	}
}

// Whatever a message says is part of the name: a field that is added to it and
// left out here would give one client the tokens of another conversation.
func TestNamesHoldEveryFieldOfAMessage(t *testing.T) {
	plain := names(conversationBegin, []inference.Message{{}})[0]
	kind := reflect.TypeFor[inference.Message]()
	for i := range kind.NumField() {
		var m inference.Message
		switch field := reflect.ValueOf(&m).Elem().Field(i); field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Slice: // an empty call counts
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			if raw, ok := field.Addr().Interface().(*json.RawMessage); ok {
				*raw = json.RawMessage("1")
			}
		default:
			t.Fatalf("%s is a %s: give it a value here", kind.Field(i).Name, field.Kind())
		}
		if names(conversationBegin, []inference.Message{m})[0] == plain {
			t.Errorf("%s does not count", kind.Field(i).Name)
		}
	}
}

// Clients give calls other names, write their arguments anew and drop the thinking;
// which result belongs to which call counts.
func TestNamesOfConversationsWithCalls(t *testing.T) {
	said := func(thought, one, two, arguments string, first, second string) spoken {
		all := names(conversationBegin, []inference.Message{
			{Role: inference.RoleUser, Content: "q"},
			{Role: inference.RoleAssistant, Reasoning: thought, ToolCalls: []inference.ToolCall{
				{ID: one, Name: "look", Arguments: arguments}, {ID: two, Name: "look", Arguments: `{}`}}},
			{Role: inference.RoleTool, ToolCallID: first, Content: "x"},
			{Role: inference.RoleTool, ToolCallID: second, Content: "y"},
		})
		return all[3]
	}
	want := said("hm", "a", "b", `{"k": 1.50, "j": [true]}`, "a", "b")
	for name, got := range map[string]spoken{
		"other names":                said("hm", "c", "d", `{"k": 1.50, "j": [true]}`, "c", "d"),
		"another order of arguments": said("hm", "a", "b", `{"j":[true],"k":1.50}`, "a", "b"),
		"no thinking":                said("", "a", "b", `{"k": 1.50, "j": [true]}`, "a", "b"),
	} {
		if got != want {
			t.Errorf("%s: another conversation", name)
		}
	}
	for name, got := range map[string]spoken{
		"results of each other": said("hm", "a", "b", `{"k": 1.50, "j": [true]}`, "b", "a"),
		"another argument":      said("hm", "a", "b", `{"k": 1.51, "j": [true]}`, "a", "b"),
		"a result of no call":   said("hm", "a", "b", `{"k": 1.50, "j": [true]}`, "a", "z"),
	} {
		if got == want {
			t.Errorf("%s: the same conversation", name)
		}
	}
}

// Other tools, or another effort, are another conversation; nil and no tools are one.
func TestWhatIsRenderedInFrontCounts(t *testing.T) {
	plain := begin(&inference.Request{})
	tools := begin(&inference.Request{Tools: []inference.Tool{{Name: "a"}}})
	if plain != conversationBegin || tools == plain || tools == begin(&inference.Request{Tools: []inference.Tool{{Name: "b"}}}) ||
		begin(&inference.Request{Reasoning: inference.Reasoning{Effort: inference.EffortLow}}) == plain {
		t.Error("what is in front does not count")
	}
}

// Random messages that differ, cut into fields differently, have different
// names.
func TestNamesDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.Custom(func(t *rapid.T) inference.Message {
			s := rapid.StringOfN(rapid.SampledFrom([]rune(`a",:{}\`)), 0, 4, -1)
			return inference.Message{Role: s.Draw(t, "role"), Content: s.Draw(t, "content"), Name: s.Draw(t, "name")}
		})
		a := rapid.SliceOfN(message, 1, 4).Draw(t, "a")
		b := rapid.SliceOfN(message, 1, 4).Draw(t, "b")
		same := names(conversationBegin, a)[len(a)-1] == names(conversationBegin, b)[len(b)-1]
		if same != reflect.DeepEqual(a, b) {
			t.Fatalf("%+v and %+v: one name %t", a, b, same)
		}
	})
}

// The memory against a plain model of it: the same look-ups, the least recently
// used gone first, never over the limit.
func TestPastForgetsWhatWasNotAskedForLongest(t *testing.T) {
	of := make([]spoken, 12)
	for i := range of {
		of[i] = names(conversationBegin, conversation(fmt.Sprint(i)))[0]
	}
	rapid.Check(t, func(t *rapid.T) {
		p := past{limit: rapid.IntRange(0, 4*entryBytes).Draw(t, "limit")}
		type known struct {
			i      int
			tokens []engine.Token
		}
		var want []known // the last used in front
		gone := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"remember": func(t *rapid.T) {
				i := rapid.IntRange(0, len(of)-1).Draw(t, "i")
				prompt := rapid.SliceOfN(rapid.Int32(), 0, 40).Draw(t, "prompt")
				sampled := rapid.SliceOfN(rapid.Int32(), 0, 40).Draw(t, "sampled")
				p.remember(of[i], prompt, sampled)
				want = slices.DeleteFunc(want, func(k known) bool { return k.i == i })
				want = slices.Insert(want, 0, known{i, slices.Concat(prompt, sampled)})
				if entryBytes+4*len(want[0].tokens) > p.limit {
					want, gone = want[1:], gone+1
				}
				for size(want, func(k known) int { return len(k.tokens) }) > p.limit {
					want, gone = want[:len(want)-1], gone+1
				}
				if len(prompt) > 0 {
					prompt[0]++ // the caller's slice is the caller's
				}
			},
			"find": func(t *rapid.T) {
				chain := rapid.SliceOfN(rapid.IntRange(0, len(of)-1), 0, 4).Draw(t, "chain")
				asked := make([]spoken, len(chain))
				wantK, at := -1, -1
				for k, i := range chain {
					asked[k] = of[i]
					if a := slices.IndexFunc(want, func(x known) bool { return x.i == i }); a >= 0 {
						wantK, at = k, a
					}
				}
				k, tokens := p.longest(asked)
				if k != wantK || k >= 0 && !slices.Equal(tokens, want[at].tokens) {
					t.Fatalf("%d %v, want %d", k, tokens, wantK)
				}
				if at >= 0 {
					p.touch(asked[k])
					found := want[at]
					want = slices.Insert(slices.Delete(want, at, at+1), 0, found)
				}
			},
			"": func(t *rapid.T) {
				bytes := size(want, func(k known) int { return len(k.tokens) })
				if p.bytes != bytes || p.bytes > p.limit || len(p.of) != len(want) || p.byUse.Len() != len(want) || p.gone != gone {
					t.Fatalf("%d bytes of %d in %d (%d), %d gone; want %d in %d, %d gone", p.bytes, p.limit, len(p.of), p.byUse.Len(), p.gone, bytes, len(want), gone)
				}
			},
		})
	})
}

func size[T any](all []T, tokens func(T) int) (bytes int) {
	for _, x := range all {
		bytes += entryBytes + 4*tokens(x)
	}
	return bytes
}
