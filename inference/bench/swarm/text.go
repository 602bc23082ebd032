package swarm

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// words are plain ones, so that a tokenizer cuts them as it does real text.
var words = strings.Fields(`
	able about above across after again along also always among answer any apart around ask away back bank barn basket
	bean before begin behind below beside best better between bird both bread bridge bring broad build bundle burn
	busy call carry cart catch chain change check child choose clean clear climb close cloud coast cold corn count cover
	crop cross dark dawn deep dig ditch door down draw drive dry dust each early earth edge empty end enough even evening
	every far farmer fence few field fill find fire first fish flood floor flow flower follow food forest found four
	free fresh friend frost fruit full gate gather give grain grass gray green ground grow half hand hard harvest hay
	heavy help herd high hill hold home horse house inside iron join keep lake land large last late lead leaf learn
	leave left letter light line list long look low many map march market meadow meal measure meet middle mill month
	moon more morning mountain mouth move near neighbor never new next night noon north number oak often old open
	orchard other outside over own pair part path people pick place plan plant plow point pond rain raise reach ready
	repair report rest rice ripe river road roof root row sack salt sand season second seed send seven share sheep
	shore short shovel side silver small smoke snow soil song south sow spade spring square stable stack stand start
	stay stone store storm straw stream street strong summer sun table take tall team tell thick thin third three time
	tool top town tree turn under until upper valley village wait walk wall warm watch water way weather week well west
	wheat wheel white wide wind winter wood work world year yellow young`)

// Text is n words in sentences. It follows from seed and name alone.
func Text(seed uint64, name string, n int) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	var b strings.Builder
	for left := n; left > 0; {
		sentence := min(left, 6+r.IntN(9))
		left -= sentence
		for i := range sentence {
			word := words[r.IntN(len(words))]
			if i == 0 {
				word = strings.ToUpper(word[:1]) + word[1:]
			}
			b.WriteString(word)
			if i < sentence-1 {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('.')
		if left > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// counter tells how many tokens a text has.
type counter func(ctx context.Context, text string) (int, error)

// fit returns a text of about as many tokens as wanted, within 1 % where the
// server counts tokens; count is nil where it does not, and then three words
// stand for four tokens.
func fit(ctx context.Context, seed uint64, name string, tokens int, count counter) (string, error) {
	if tokens <= 0 {
		return "", nil
	}
	n := max(1, tokens*3/4)
	text := Text(seed, name, n)
	if count == nil {
		return text, nil
	}
	for range 8 {
		got, err := count(ctx, text)
		if err != nil {
			return "", fmt.Errorf("count the tokens of a text: %w", err)
		}
		if off := got - tokens; off*100 <= tokens && -off*100 <= tokens || got == 0 {
			return text, nil
		}
		next := max(1, n*tokens/got)
		if next == n {
			return text, nil
		}
		n = next
		text = Text(seed, name, n)
	}
	return text, nil
}
