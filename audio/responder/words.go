package responder

import (
	"fmt"
	"strings"
	"unicode"

	"dure/audio/turn"
)

// intent is what a person wants who needs no model to be understood.
type intent int

const (
	other    intent = iota // a model is to judge
	progress               // how is it going
	howIs                  // how is one of the agents
	nobody                 // how is somebody who is not in the team
	stopAll                // the run is to stop
	stopOne                // a task is to stop
	yes
	no
)

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}

func has(text string, list ...string) bool {
	lower := strings.ToLower(text)
	for _, w := range list {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

var (
	yesWords = set("yes yeah yep sure right correct confirm confirmed absolutely definitely do it stop cancel please okay ok that's 네 넵 예 응 어 그래 맞아 맞아요 해 해줘 해주세요 멈춰 중단해 취소해 はい oui sí ja")
	noWords  = set("no nope don't not never keep continue go on wait 아니 아니요 아니야 아뇨 안 하지마 계속 계속해 いいえ non nein")
)

func set(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// reply tells whether words are a plain yes or no, and nothing else.
func reply(text string) intent {
	list := words(text)
	if len(list) == 0 || len(list) > 6 {
		return other
	}
	agree, deny := 0, 0
	for _, w := range list {
		switch {
		case noWords[w]:
			deny++
		case yesWords[w]:
			agree++
		}
	}
	switch {
	case deny > 0:
		return no
	case agree == len(list) || agree > 0 && len(list) <= 3 || turn.Stops(text):
		return yes
	}
	return other
}

// understand finds the simple wishes; at is the agent (howIs) or the task (stopOne) that is
// meant.
func understand(text string, s *State) (what intent, at int) {
	list := words(text)
	if turn.Stops(text) {
		return stopAll, -1
	}
	stops := len(list) <= 10 && (has(text, "취소", "그만", "중단", "멈춰") && !has(text, "하지 마", "하지마") ||
		len(list) > 0 && set("stop cancel abort drop")[first(list)])
	if stops {
		if task := s.spokenTask(text); task >= 0 {
			return stopOne, task
		}
		if agent := named(s.names(), text); agent >= 0 {
			for i, t := range s.Tasks {
				if t.ID == s.Agents[agent].Task && t.ID != "" {
					return stopOne, i
				}
			}
		}
		if has(text, "everything", "the run", "the team", "all of it", "the work", "전부", "모두", "작업") {
			return stopAll, -1
		}
		return other, -1
	}
	asks := has(text, "how is", "how's", "how are", "how far", "what is", "what's", "what are", "status", "progress", "어떻게", "어때", "어디까지", "얼마나", "뭐 하", "뭐하", "뭘 하", "진행", "상황") &&
		has(text, "doing", "going", "far", "progress", "status", "working on", "up to", "getting", "하고", "되", "돼", "됐", "진행", "상황", "어때", "했", "뭐", "뭘")
	if !asks || len(list) > 12 {
		return other, -1
	}
	if agent := named(s.names(), text); agent >= 0 {
		return howIs, agent
	}
	if unknownName(text) != "" {
		return nobody, -1
	}
	return progress, -1
}

// first is the first word that is none of courtesy.
func first(list []string) string {
	for _, w := range list {
		if !set("please ok okay no now just can could you well and so then 그 이제")[w] {
			return w
		}
	}
	return ""
}

// unknownName is somebody who is not in the team: what stands between "how is" and "doing",
// or a capitalised word inside a sentence.
func unknownName(text string) string {
	list := words(text)
	for i, w := range list {
		if i > 1 && (w == "doing" || w == "getting") && (list[0] == "how" || list[0] == "how's") {
			if who := list[i-1]; !common(who) && who != "team" && who != "everyone" && who != "everybody" && who != "lead" && who != "project" && who != "build" {
				return who
			}
		}
	}
	list = strings.Fields(text)
	for i, w := range list {
		r := []rune(w)
		if i > 0 && len(r) > 2 && unicode.IsUpper(r[0]) && unicode.IsLower(r[1]) && !common(strings.Trim(w, ".,?!'s")) {
			return strings.TrimRight(w, ".,?!")
		}
	}
	return ""
}

func (s *State) names() []string {
	out := make([]string, len(s.Agents))
	for i, a := range s.Agents {
		out[i] = a.Name
	}
	return out
}

// spokenTask is the open task whose title is in the words; -1 is none.
func (s *State) spokenTask(text string) int {
	padded := " " + strings.Join(words(text), " ") + " "
	best, at := 0, -1
	for i, t := range s.Tasks {
		title := strings.Join(words(t.Title), " ")
		if title != "" && len(title) > best && strings.Contains(padded, " "+title+" ") {
			best, at = len(title), i
		}
	}
	return at
}

// The sentences about a run. Every figure in them is one of the state's.

func korean(language string) bool { return language == "ko" }

func tasksWord(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

// tell is how the run stands.
func (s *State) tell(language string) string {
	done, all, working := s.Count("done"), len(s.Tasks), s.Count("at work")
	if korean(language) {
		switch s.Phase {
		case Done:
			return fmt.Sprintf("팀이 끝냈습니다. 작업 %d개 중 %d개가 완료됐고 검사를 통과했습니다.", all, done)
		case Failed, Ended:
			return fmt.Sprintf("실행이 끝났습니다. 작업 %d개 중 %d개가 완료됐습니다.", all, done)
		case Rest:
			return fmt.Sprintf("지금은 아무도 실행하고 있지 않습니다. 작업 %d개 중 %d개가 완료됐습니다.", all, done)
		case Plan:
			return fmt.Sprintf("작업 %d개의 계획이 승인을 기다립니다.", all)
		case Paused:
			return fmt.Sprintf("팀이 멈춰 있습니다. 작업 %d개 중 %d개가 완료됐습니다.", all, done)
		case Waiting:
			return fmt.Sprintf("팀이 대답을 기다립니다. 작업 %d개 중 %d개가 완료됐습니다.", all, done)
		}
		return fmt.Sprintf("작업 %d개 중 %d개가 완료됐고, %d개를 진행하고 있습니다.", all, done, working)
	}
	sum := fmt.Sprintf("%d of %s done", done, tasksWord(all))
	failed := ""
	if n := s.Count("failed"); n > 0 {
		failed = fmt.Sprintf(", %d failed", n)
	}
	switch s.Phase {
	case Done:
		return fmt.Sprintf("The team has finished: %s%s, and the check passes.", sum, failed)
	case Failed:
		return fmt.Sprintf("The run has ended without passing its check: %s%s.", sum, failed)
	case Ended:
		return fmt.Sprintf("The run was ended: %s%s.", sum, failed)
	case Rest:
		return fmt.Sprintf("Nobody is running the team now: %s%s.", sum, failed)
	case Plan:
		return fmt.Sprintf("The plan of %s waits for your approval.", tasksWord(all))
	case Paused:
		return fmt.Sprintf("The team stands still: %s%s.", sum, failed)
	case Waiting:
		return fmt.Sprintf("The team waits for your answer: %s%s.", sum, failed)
	}
	if all == 0 {
		return "The lead is still planning; there are no tasks yet."
	}
	return fmt.Sprintf("So far %s%s, %d at work.", sum, failed, working)
}

// tellAgent is what an agent has to do.
func (s *State) tellAgent(a Agent, language string) string {
	t := s.task(a.Task)
	if korean(language) {
		if t == nil {
			return fmt.Sprintf("%s는 지금 맡은 작업이 없습니다.", a.Name)
		}
		return fmt.Sprintf("%s는 %s 작업을 맡고 있습니다.", a.Name, t.Title)
	}
	if t == nil {
		if a.Role == "lead" {
			return fmt.Sprintf("%s leads the team.", a.Name)
		}
		return fmt.Sprintf("%s has no task now.", a.Name)
	}
	return fmt.Sprintf("%s has the task %s, which is %s.", a.Name, t.Title, t.State)
}

// sure asks whether the run, or a task of it, is really to be stopped.
func (s *State) sure(t *Task, language string) string {
	if korean(language) {
		if t != nil {
			return fmt.Sprintf("%s 작업을 정말 멈출까요?", t.Title)
		}
		return fmt.Sprintf("작업 %d개 중 %d개가 완료됐습니다. 정말 전부 멈출까요?", len(s.Tasks), s.Count("done"))
	}
	if t != nil {
		return fmt.Sprintf("Shall I really stop the task %s? Say yes or no.", t.Title)
	}
	return fmt.Sprintf("%d of %s done. Shall I really stop the whole run? Say yes or no.", s.Count("done"), tasksWord(len(s.Tasks)))
}

// phrase is a fixed sentence.
func phrase(language string, en, ko string) string {
	if korean(language) {
		return ko
	}
	return en
}
