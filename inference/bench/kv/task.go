package kv

import (
	"fmt"
	"strings"
)

// Question is asked behind a document.
type Question struct {
	// Depth of what is asked for in the document, 0 (its beginning) to 1; negative
	// where it is in no one place.
	Depth float64
	// Ask is put behind the document; Answer is what would then be right, with the
	// space that it begins with.
	Ask, Answer string
	// Want are the parts that a right answer has, in any order.
	Want []string
}

// Document is a text with questions about it.
type Document struct {
	Task      Task
	Text      string
	Questions []Question
}

// Task is a kind of document.
type Task string

// The tasks. All but the first and the last are named as in RULER (arXiv 2404.06654),
// which they resemble: a key among noise, many keys of one form, one key with many
// values, variables that are set from each other, words that are common in a list.
const (
	// Needles has one number at each of five depths, in a story.
	Needles       Task = "needles"
	SingleNeedle  Task = "niah_single"
	MultiKey      Task = "niah_multikey"
	MultiValue    Task = "niah_multivalue"
	VariableTrack Task = "vt"
	CommonWords   Task = "cwe"
	// ManyQuestions are twenty about one state, among them none that the text gives
	// away.
	ManyQuestions Task = "multi_query"
)

// Tasks are all of them.
func Tasks() []Task {
	return []Task{Needles, ManyQuestions, SingleNeedle, MultiKey, MultiValue, VariableTrack, CommonWords}
}

// depths at which needles lie.
var depths = []float64{0, 0.25, 0.5, 0.75, 1}

// manyQuestions of one state, multiKeyQuestions of one list.
const (
	manyQuestions     = 20
	multiKeyQuestions = 4
)

// NewDocument makes a document of about so many bytes, or more where what it hides
// alone takes more. It follows from the task and the seed; a longer one hides the same.
func NewDocument(task Task, seed uint64, bytes int) Document {
	d := dice{source(string(task), seed)}
	switch task {
	case SingleNeedle:
		return d.single(bytes)
	case MultiKey:
		return d.multiKey(bytes)
	case MultiValue:
		return d.multiValue(seed, bytes)
	case VariableTrack:
		return d.variables(bytes)
	case CommonWords:
		return d.commonWords(bytes)
	case ManyQuestions:
		return d.manyQuestions(seed, bytes)
	}
	return d.needles(seed, bytes)
}

var adjectives = strings.Fields("amber brave calm dusty eager faint gentle hollow icy jolly keen lively mellow narrow olive plain quiet rusty silver tidy vivid wooden yellow young")

// keys are n different names, like "rusty-lantern".
func (d dice) keys(n int) []string {
	out := make([]string, n)
	first, second := d.Perm(len(adjectives)), d.Perm(len(things))
	for i := range out {
		out[i] = adjectives[first[i%len(first)]] + "-" + things[second[(i+i/len(first))%len(second)]]
	}
	return out
}

const digits = 5

func hidden(key, value string) string {
	return fmt.Sprintf("One of the special magic numbers for %s is: %s.", key, value)
}

func askFor(key string) string {
	return fmt.Sprintf("\n\nWhat is the special magic number for %s mentioned in the text above? The special magic number for %s mentioned in the text above is:", key, key)
}

const remember = "Some special magic numbers are hidden in the following text. Remember them: they will be asked for afterwards.\n\n"

// story is filler as sentences.
func story(seed uint64, bytes int) (out []string) {
	t := newTeller(dice{source("filler", seed)})
	for n := 0; n < bytes || len(out) == 0; t.day++ {
		s := t.sentence()
		out, n = append(out, s), n+len(s)+1
	}
	return out
}

// place is something hidden at a depth.
type place struct {
	depth float64
	text  string
}

// hide puts things between sentences, in ascending order of depth.
func hide(sentences []string, what []place) string {
	var b strings.Builder
	at := 0
	for i, s := range sentences {
		for at < len(what) && what[at].depth*float64(len(sentences)) <= float64(i) {
			b.WriteString(what[at].text + " ")
			at++
		}
		b.WriteString(s + " ")
	}
	for ; at < len(what); at++ {
		b.WriteString(what[at].text + " ")
	}
	return strings.TrimSuffix(b.String(), " ")
}

func (d dice) needles(seed uint64, bytes int) Document {
	out := Document{Task: Needles}
	var what []place
	for i, key := range d.keys(len(depths)) {
		value := d.number(digits)
		what = append(what, place{depths[i], hidden(key, value)})
		out.Questions = append(out.Questions, Question{Depth: depths[i], Ask: askFor(key), Answer: " " + value, Want: []string{value}})
	}
	out.Text = remember + hide(story(seed, bytes-len(remember)), what)
	return out
}

// single hides one number in the same few sentences over and over.
func (d dice) single(bytes int) Document {
	filler := noiseOf(bytes - len(remember))
	key, value, depth := d.keys(1)[0], d.number(digits), d.Float64()
	return Document{Task: SingleNeedle, Text: remember + hide(filler, []place{{depth, hidden(key, value)}}),
		Questions: []Question{{Depth: depth, Ask: askFor(key), Answer: " " + value, Want: []string{value}}}}
}

// multiKey is made of hidden numbers alone; four of them are asked for.
func (d dice) multiKey(bytes int) Document {
	most := len(adjectives) * len(things)
	keys := d.keys(most)
	out := Document{Task: MultiKey}
	var lines, values []string
	for n := len(remember); (n < bytes || len(lines) < 8) && len(lines) < most; {
		value := d.number(digits)
		s := hidden(keys[len(lines)], value)
		lines, values, n = append(lines, s), append(values, value), n+len(s)+1
	}
	for i := range multiKeyQuestions {
		at := (2*i + 1) * len(lines) / (2 * multiKeyQuestions)
		out.Questions = append(out.Questions, Question{Depth: float64(at) / float64(len(lines)), Ask: askFor(keys[at]), Answer: " " + values[at], Want: []string{values[at]}})
	}
	out.Text = remember + strings.Join(lines, "\n")
	return out
}

func (d dice) multiValue(seed uint64, bytes int) Document {
	key := d.keys(1)[0]
	var what []place
	var values []string
	for i := range 4 {
		values = append(values, d.number(digits))
		what = append(what, place{(float64(i) + d.Float64()) / 4, hidden(key, values[i])})
	}
	ask := fmt.Sprintf("\n\nWhat are all the special magic numbers for %s mentioned in the text above? The special magic numbers for %s mentioned in the text above are:", key, key)
	return Document{Task: MultiValue, Text: remember + hide(story(seed, bytes-len(remember)), what),
		Questions: []Question{{Depth: -1, Ask: ask, Answer: " " + strings.Join(values, ", "), Want: values}}}
}

// variables are two chains of assignments among noise; all names of one are asked for.
func (d dice) variables(bytes int) Document {
	const head = "Memorise and track the chains of variable assignments that are hidden in the following text.\n\n"
	var what []place
	var names []string
	value := d.number(digits)
	for chain := range 2 {
		first, given := "", value
		if chain == 1 {
			given = d.number(digits)
		}
		for hop := range 4 {
			name := string([]byte{byte('A' + d.IntN(26)), byte('A' + d.IntN(26)), byte('A' + 13*chain + d.IntN(13)), byte('A' + 6*hop + d.IntN(6))})
			text := fmt.Sprintf("VAR %s = %s.", name, given)
			if hop > 0 {
				text = fmt.Sprintf("VAR %s = VAR %s.", name, first)
			}
			if first = name; chain == 0 {
				names = append(names, name)
			}
			what = append(what, place{(float64(hop) + 0.5*float64(chain) + 0.4*d.Float64()) / 4, text})
		}
	}
	ordered := make([]place, 0, len(what))
	for hop := range 4 { // the chains take turns
		ordered = append(ordered, what[hop], what[4+hop])
	}
	ask := fmt.Sprintf("\n\nFind all variables that are assigned the value %s in the text above. The variables that are assigned the value %s are:", value, value)
	return Document{Task: VariableTrack, Text: head + hide(noiseOf(bytes-len(head)), ordered),
		Questions: []Question{{Depth: -1, Ask: ask, Answer: " " + strings.Join(names, ", "), Want: names}}}
}

// noiseOf is filler that says nothing.
func noiseOf(bytes int) (out []string) {
	noise := []string{"The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.", "There and back again."}
	for n := 0; n < bytes || len(out) == 0; {
		s := noise[len(out)%len(noise)]
		out, n = append(out, s), n+len(s)+1
	}
	return out
}

// commonWords is a list in which five words come often and others rarely.
func (d dice) commonWords(bytes int) Document {
	const head = "Below is a numbered list of words. Memorise the ones that appear most often.\n\n"
	pool := d.some(append(append([]string{}, things...), adjectives...), len(things)+len(adjectives))
	common, rare := pool[:5], pool[5:]
	n := max(20, (bytes-len(head))/11)
	list := make([]string, n)
	for i := range list {
		if i < n*6/10 {
			list[i] = common[i%len(common)]
		} else {
			list[i] = rare[i%len(rare)]
		}
	}
	d.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	var b strings.Builder
	b.WriteString(head)
	for i, w := range list {
		fmt.Fprintf(&b, "%d. %s ", i+1, w)
	}
	return Document{Task: CommonWords, Text: strings.TrimSuffix(b.String(), " "), Questions: []Question{{
		Depth: -1, Ask: "\n\nWhat are the 5 most common words in the above list? The 5 most common words in the list are:",
		Answer: " " + strings.Join(common, ", "), Want: common,
	}}}
}

// manyQuestions hides where twenty people live.
func (d dice) manyQuestions(seed uint64, bytes int) Document {
	const head = "The following text says where some people live. It will be asked for afterwards.\n\n"
	out := Document{Task: ManyQuestions}
	var what []place
	for i, name := range d.some(givenNames, manyQuestions) {
		family, town := title(d.of(adjectives)), d.of(towns)
		depth := (float64(i) + 0.5) / manyQuestions
		what = append(what, place{depth, fmt.Sprintf("%s %s lives in %s.", name, family, town)})
		out.Questions = append(out.Questions, Question{Depth: depth, Want: []string{town}, Answer: " " + town,
			Ask: fmt.Sprintf("\n\nWhere does %s %s live? According to the text above, %s %s lives in", name, family, name, family)})
	}
	out.Text = head + hide(story(seed, bytes-len(head)), what)
	return out
}

// found is the share of the parts that an answer has.
func found(answer string, want []string) float64 {
	if len(want) == 0 {
		return 0
	}
	n := 0
	for _, w := range want {
		if strings.Contains(answer, w) {
			n++
		}
	}
	return float64(n) / float64(len(want))
}
