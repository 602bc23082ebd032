package responder

import (
	"fmt"

	"dure/audio/voice"
)

// changed is what is worth saying about the way from one state of a run to the next; nil is
// nothing. The key names the state reached.
func changed(old, now *State, language string) *voice.Progress {
	for _, q := range now.Questions {
		if !old.asked(q.ID) {
			return &voice.Progress{Key: "question/" + q.ID, Text: q.tell(language)}
		}
	}
	if now.Phase != old.Phase && (now.Phase.Over() || now.Phase == Plan || now.Phase == Paused) {
		return &voice.Progress{Key: "phase/" + string(now.Phase), Text: now.tell(language)}
	}
	for _, t := range now.Tasks {
		before := old.task(t.ID)
		if t.State == "failed" && (before == nil || before.State != "failed") {
			return &voice.Progress{Key: "failed/" + t.ID, Text: fmt.Sprintf(phrase(language, "The task %s failed.", "%s 작업이 실패했습니다."), t.Title)}
		}
	}
	if done := now.Count("done"); done != old.Count("done") {
		return &voice.Progress{Key: fmt.Sprintf("done/%d/%d", done, len(now.Tasks)), Text: now.tell(language)}
	}
	if len(now.Tasks) != len(old.Tasks) {
		return &voice.Progress{Key: fmt.Sprintf("tasks/%d", len(now.Tasks)), Text: fmt.Sprintf(phrase(language, "There are %s now.", "이제 작업이 %s입니다."), count(len(now.Tasks), language))}
	}
	return nil
}

// tell is a question as it is spoken. One that nobody asked is the team's.
func (q *Question) tell(language string) string {
	who := q.Agent
	if who == "" {
		who = phrase(language, "The team", "팀")
	}
	return fmt.Sprintf(phrase(language, "%s asks: %s", "%s의 질문입니다. %s"), who, clip(q.Text))
}

func count(n int, language string) string {
	if korean(language) {
		return fmt.Sprintf("%d개", n)
	}
	return tasksWord(n)
}

func (s *State) asked(id string) bool {
	for _, q := range s.Questions {
		if q.ID == id {
			return true
		}
	}
	return false
}

// clip is as much of a text as is spoken.
func clip(text string) string {
	if r := []rune(text); len(r) > 300 {
		return string(r[:300]) + " ..."
	}
	return text
}
