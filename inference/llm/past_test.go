package llm

import (
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
	of := names(base)
	for i := range base {
		for j := range i {
			if of[i] == of[j] {
				t.Errorf("messages %d and %d have one name", i, j)
			}
		}
		if got := names(base[:i+1])[i]; got != of[i] {
			t.Errorf("the name of message %d depends on what follows", i)
		}
	}
	if got := names(conversation("q", " a\n", "q2", "\t a2"))[3]; got != of[3] {
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
		all := names(other)
		if all[len(all)-1] == of[3] {
			t.Errorf("%s changes nothing", name)
		}
	}
}

// Whatever a message says is part of the name: a field that is added to it and
// left out here would give one client the tokens of another conversation.
func TestNamesHoldEveryFieldOfAMessage(t *testing.T) {
	plain := names([]inference.Message{{}})[0]
	kind := reflect.TypeFor[inference.Message]()
	for i := range kind.NumField() {
		var m inference.Message
		field := reflect.ValueOf(&m).Elem().Field(i)
		if field.Kind() != reflect.String {
			t.Fatalf("%s is a %s: give it a value here", kind.Field(i).Name, field.Kind())
		}
		field.SetString("x")
		if names([]inference.Message{m})[0] == plain {
			t.Errorf("%s does not count", kind.Field(i).Name)
		}
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
		same := names(a)[len(a)-1] == names(b)[len(b)-1]
		if same != slices.Equal(a, b) {
			t.Fatalf("%+v and %+v: one name %t", a, b, same)
		}
	})
}

// The memory against a plain model of it: the same look-ups, the least recently
// used gone first, never over the limit.
func TestPastForgetsWhatWasNotAskedForLongest(t *testing.T) {
	of := make([]spoken, 12)
	for i := range of {
		of[i] = names(conversation(fmt.Sprint(i)))[0]
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
