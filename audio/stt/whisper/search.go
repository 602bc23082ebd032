package whisper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dure/audio/onnx"
)

// Result is what was recognised.
type Result struct {
	Text     string
	Language string
	// Confidence is the mean logarithm of the words' probabilities; 0 is certainty.
	Confidence float64
	// NoSpeech is the probability that nobody spoke, as the model says it.
	NoSpeech float64
}

// ErrLanguage is for a language that the model does not know.
var ErrLanguage = errors.New("the model does not know the language")

// Guards against made-up text: what the model says of silence, and how fast people speak.
const (
	silent         = 0.6  // no speech from this probability on,
	unsure         = -1.0 // where the words are less certain than this
	wordsPerSecond = 12
	leastWords     = 12
	// tailFrames of silence follow the sound, and at least leastFrames are looked at: the
	// model was made for 30 seconds, and says a short word again and again where it sees
	// little more than that (measured: up to 4 s for a word of one second).
	tailFrames  = 200
	leastFrames = 800
	// stepFrames keeps the number of different lengths small.
	stepFrames = 200
)

// Transcribe recognises at most Longest samples at Rate. Language is an ISO 639-1 code; ""
// lets a multilingual model find it out. The error of a language that the model does not
// know wraps ErrLanguage.
func (m *Model) Transcribe(ctx context.Context, pcm []float32, language string) (Result, error) {
	r, err := m.transcribe(ctx, pcm, language, m.frames(len(pcm)))
	if err != nil {
		return Result{}, fmt.Errorf("recognise %.1f s of speech: %w", float64(len(pcm))/Rate, err)
	}
	return r, nil
}

// frames is how much of the spectrogram is looked at for a number of samples.
func (m *Model) frames(samples int) int {
	n := samples/melHop + tailFrames
	return min(melMax, max(leastFrames, (n+stepFrames-1)/stepFrames*stepFrames))
}

func (m *Model) transcribe(ctx context.Context, pcm []float32, language string, frames int) (Result, error) {
	if len(pcm) > Longest {
		return Result{}, fmt.Errorf("at most %d samples at once", Longest)
	}
	if _, ok := m.words.prompt(language); !ok && language != "" {
		return Result{}, fmt.Errorf("%w: %q; it knows %v", ErrLanguage, language, m.Languages())
	}
	cross, err := m.encode(ctx, pcm, frames)
	if err != nil {
		return Result{}, err
	}
	defer onnx.CloseAll(cross)
	if language == "" {
		if language, err = m.detect(ctx, cross); err != nil {
			return Result{}, err
		}
	}
	prompt, _ := m.words.prompt(language)
	s := &search{m: m, cross: cross}
	defer s.close()
	r, err := s.run(ctx, prompt, min(int(m.d.textPlaces)-len(prompt)-1, leastWords+len(pcm)*wordsPerSecond/Rate))
	r.Language = language
	return r, err
}

// detect is the most likely language.
func (m *Model) detect(ctx context.Context, cross []*onnx.Value) (string, error) {
	if len(m.words.languages) == 0 {
		return "en", nil
	}
	s := &search{m: m, cross: cross}
	defer s.close()
	scores, err := s.step(ctx, []int64{m.words.start})
	if err != nil {
		return "", err
	}
	best := ""
	for code, id := range m.words.languages {
		if best == "" || scores[id] > scores[m.words.languages[best]] || scores[id] == scores[m.words.languages[best]] && code < best {
			best = code
		}
	}
	return best, nil
}

// search is one transcript being made.
type search struct {
	m     *Model
	cross []*onnx.Value // the sound; the caller's
	past  []*onnx.Value // the words so far
	at    int64
}

func (s *search) close() { onnx.CloseAll(s.past) }

// run takes the best word again and again until the model ends, at most most times.
func (s *search) run(ctx context.Context, prompt []int64, most int) (Result, error) {
	var r Result
	scores, err := s.step(ctx, prompt[:1])
	if err != nil {
		return r, err
	}
	if s.m.words.mute >= 0 {
		r.NoSpeech = math.Exp(logProbability(scores, s.m.words.mute))
	}
	if scores, err = s.step(ctx, prompt[1:]); err != nil {
		return r, err
	}
	var words []int64
	var logs []float64 // of each word's probability
	total := 0.0
	for {
		best := s.best(scores, len(words) == 0)
		log := logProbability(scores, best)
		total += log
		if best == s.m.words.end || len(words) == most {
			break
		}
		words, logs = append(words, best), append(logs, log)
		if n := repeats(words); n > 0 {
			words = words[:len(words)-n]
			break
		}
		if scores, err = s.step(ctx, words[len(words)-1:]); err != nil {
			return r, err
		}
	}
	r.Confidence = total / float64(len(words)+1)
	if r.NoSpeech > silent && r.Confidence < unsure {
		return r, nil
	}
	r.Text = s.m.words.text(words[:len(words)-loose(s.m.words, words, logs[:len(words)])])
	return r, nil
}

// loose is how many words at the end begin a sentence that does not go on and are
// doubtful: the model likes to begin another one where the sound ends.
func loose(v *vocabulary, words []int64, logs []float64) int {
	const most, doubt = 2, -0.25 // a probability of 78 %
	for n := 1; n <= most && n < len(words) && !ends(v.bytes[words[len(words)-1]]); n++ {
		if logs[len(words)-n] < doubt && ends(v.bytes[words[len(words)-n-1]]) {
			return n
		}
	}
	return 0
}

// ends reports whether a word is the end of a sentence.
func ends(word []byte) bool {
	return len(word) > 0 && bytes.IndexByte([]byte(".?!"), word[len(word)-1]) >= 0
}

// best is the most likely word that may come.
func (s *search) best(scores []float32, first bool) int64 {
	best := s.m.words.end
	for id, score := range scores {
		if s.m.never[id] || first && s.m.notFirst[id] {
			continue
		}
		if score > scores[best] || first && s.m.notFirst[best] {
			best = int64(id)
		}
	}
	return best
}

// repeats is how many words at the end say again, for the third time, what stands before
// them: the loop that the model falls into where it hears nothing more. 0 is none.
func repeats(words []int64) int {
	for n := 1; 3*n <= len(words) && n <= 32; n++ {
		end := len(words)
		a, b, c := words[end-3*n:end-2*n], words[end-2*n:end-n], words[end-n:]
		// A short word may well be said three times.
		if slices.Equal(a, b) && slices.Equal(b, c) && (n > 3 || len(words) >= 6*n && slices.Equal(words[end-6*n:end-3*n], words[end-3*n:])) {
			return 2 * n
		}
	}
	return 0
}

// step hears out more words and returns the scores of the next one.
func (s *search) step(ctx context.Context, ids []int64) ([]float32, error) {
	m := s.m
	n := int64(len(ids))
	if s.past == nil {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	words, err := onnx.New(m.lib, []int64{1, n}, ids)
	if err != nil {
		return nil, err
	}
	defer words.Close()
	positions, err := onnx.New(m.lib, []int64{1, n, m.d.width}, m.text[s.at*m.d.width:(s.at+n)*m.d.width])
	if err != nil {
		return nil, err
	}
	defer positions.Close()
	in := append([]*onnx.Value{words, positions}, s.past...)
	out, err := m.decoder.Run(ctx, append(in, s.cross...)...)
	if err != nil {
		return nil, err
	}
	onnx.CloseAll(s.past)
	s.past = out[1:]
	s.at += n
	defer out[0].Close()
	scores, err := onnx.Data[float32](out[0])
	if err != nil {
		return nil, err
	}
	return slices.Clone(scores), nil
}

// begin makes the empty past.
func (s *search) begin() error {
	shape := []int64{1, s.m.d.heads, 0, s.m.d.width / s.m.d.heads}
	for range 2 * s.m.d.decoderLayers {
		v, err := onnx.New[float32](s.m.lib, shape, nil)
		if err != nil {
			return err
		}
		s.past = append(s.past, v)
	}
	return nil
}

// logProbability is the logarithm of a word's probability among all.
func logProbability(scores []float32, id int64) float64 {
	top := slices.Max(scores)
	sum := 0.0
	for _, v := range scores {
		sum += math.Exp(float64(v - top))
	}
	return float64(scores[id]-top) - math.Log(sum)
}
