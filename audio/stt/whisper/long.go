package whisper

import (
	"context"
	"math"
	"strings"
)

const (
	// Where a long sound is cut: at its quietest 200 ms between these places.
	cutFrom  = 20 * Rate
	cutTo    = Longest - Rate/2
	cutWidth = Rate / 5
	// inaudible is the root mean square below which sound is not worth the model's
	// time: -80 dB of the largest there can be.
	inaudible = 1e-4
)

// TranscribeAll recognises sound of any length, in parts that end where it is quiet.
func (m *Model) TranscribeAll(ctx context.Context, pcm []float32, language string) (Result, error) {
	var all Result
	var texts []string
	for first := true; first || len(pcm) > 0; first = false {
		n := cut(pcm)
		part := pcm[:n]
		pcm = pcm[n:]
		if power(part) < inaudible*inaudible {
			if first {
				all.Language, all.NoSpeech = language, 1
			}
			continue
		}
		r, err := m.Transcribe(ctx, part, language)
		if err != nil {
			return Result{}, err
		}
		if r.Text != "" {
			texts = append(texts, r.Text)
		}
		if len(texts) <= 1 {
			all = r
		}
		all.Confidence = min(all.Confidence, r.Confidence)
		language = r.Language // the parts of one utterance are of one language
	}
	all.Text = strings.Join(texts, " ")
	return all, nil
}

// cut is how many samples the next part has.
func cut(pcm []float32) int {
	if len(pcm) <= Longest {
		return len(pcm)
	}
	best, least := cutTo, math.Inf(1)
	for at := cutFrom; at+cutWidth <= cutTo; at += cutWidth / 4 {
		if p := power(pcm[at : at+cutWidth]); p < least {
			best, least = at+cutWidth/2, p
		}
	}
	return best
}

// power is the mean square.
func power(pcm []float32) float64 {
	sum := 0.0
	for _, v := range pcm {
		sum += float64(v) * float64(v)
	}
	return sum / float64(max(1, len(pcm)))
}
