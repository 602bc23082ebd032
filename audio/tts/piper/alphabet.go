package piper

import "strings"

// spelled is how the voices' alphabet writes what is one character of package english.
var spelled = map[rune]string{
	'A': "eɪ", 'I': "aɪ", 'O': "oʊ", 'Q': "əʊ", 'W': "aʊ", 'Y': "ɔɪ", 'ʤ': "dʒ", 'ʧ': "tʃ", 'T': "ɾ", 'ᵊ': "ə",
	'“': "\"", '”': "\"", '—': ",", '…': ".", 'g': "ɡ",
}

// long are the vowels that it writes with a mark of length where they are stressed.
const long = "iuɑɔ"

// translate changes the alphabet: diphthongs become two characters, stressed long vowels
// get their mark, and a vowel with r becomes one sound.
func translate(sounds []rune) []rune {
	var b strings.Builder
	stressed := false
	for i := 0; i < len(sounds); i++ {
		r := sounds[i]
		r2 := rune(0)
		if i+1 < len(sounds) {
			r2 = sounds[i+1]
		}
		switch {
		case r == 'ɜ' && r2 == 'ɹ':
			b.WriteString("ɜː")
			i++
		case r == 'ə' && r2 == 'ɹ':
			b.WriteString("ɚ")
			i++
		case strings.ContainsRune(long, r) && stressed && r2 != 'ɪ' && r2 != 'ː':
			b.WriteRune(r)
			b.WriteRune('ː')
		case spelled[r] != "":
			b.WriteString(spelled[r])
		default:
			b.WriteRune(r)
		}
		stressed = r == 'ˈ' || r == 'ˌ' || stressed && strings.ContainsRune("bdfhjklmnpstvwzðŋɡɹʃʒθ", r)
	}
	return []rune(b.String())
}

// isMark reports whether a character is heard as a pause at most.
func isMark(r rune) bool { return strings.ContainsRune(" !'(),-.:;?\"ˈˌː", r) }

// parts cuts sounds into parts of at most most, after punctuation or a word.
func parts(sounds []rune, most int) [][]rune {
	var all [][]rune
	for len(sounds) > most {
		cut := most
		for _, want := range []string{".!?;:,—…", " "} {
			if at := strings.LastIndexAny(string(sounds[:most]), want); at > 0 {
				if n := len([]rune(string(sounds[:most])[:at])) + 1; n > most/4 {
					cut = n
					break
				}
			}
		}
		all = append(all, sounds[:cut])
		sounds = sounds[cut:]
	}
	return append(all, sounds)
}
