package turn

// Phrases that the session says by itself. They are few and fixed, so that their sound can
// be kept.
type phraseKind int

const (
	phraseMoment  phraseKind = iota // a turn is acknowledged
	phraseSorry                     // an answer failed
	phraseScreen                    // the rest is on the screen
	phraseLate                      // before an answer that came late
	phraseStopped                   // the work was called off
	phraseKinds
)

var phrases = map[string][phraseKinds]string{
	"en": {"One moment.", "Sorry, something went wrong.", "The rest is on your screen.", "About what you asked before:", "All right, I stopped it."},
	"ko": {"잠시만요.", "죄송합니다. 문제가 생겼습니다.", "나머지는 화면에 보여 드릴게요.", "아까 물어보신 내용인데요.", "네, 중단했습니다."},
	"ja": {"少々お待ちください。", "すみません、問題が発生しました。", "続きは画面をご覧ください。", "先ほどのご質問ですが、", "はい、中止しました。"},
	"zh": {"请稍等。", "抱歉，出了点问题。", "其余内容请看屏幕。", "关于您刚才的问题，", "好的，已经停止。"},
	"de": {"Einen Moment.", "Entschuldigung, etwas ist schiefgegangen.", "Der Rest steht auf dem Bildschirm.", "Zu Ihrer Frage von vorhin:", "Gut, ich habe es gestoppt."},
	"es": {"Un momento.", "Lo siento, algo ha fallado.", "El resto está en la pantalla.", "Sobre lo que preguntó antes:", "De acuerdo, lo he detenido."},
	"fr": {"Un instant.", "Désolé, un problème est survenu.", "La suite est à l'écran.", "À propos de votre question :", "D'accord, je l'ai arrêté."},
}

func phrase(k phraseKind, language string) string {
	p, ok := phrases[language]
	if !ok {
		p = phrases["en"]
	}
	return p[k]
}

// Fillers are all phrases of a language that the session may say by itself, so that they
// can be synthesised before they are needed.
func Fillers(language string) []string {
	p, ok := phrases[language]
	if !ok {
		p = phrases["en"]
	}
	return append([]string(nil), p[:]...)
}

// speakLanguage is that of the session's own words.
func (s *State) speakLanguage() string {
	switch {
	case s.config.Language != "":
		return s.config.Language
	case s.language != "":
		return s.language
	case s.config.Transcription != nil && s.config.Transcription.Language != "":
		return s.config.Transcription.Language
	}
	return "en"
}
