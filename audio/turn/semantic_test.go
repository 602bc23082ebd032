package turn

import (
	"strings"
	"testing"

	"dure/audio"
)

func TestFinished(t *testing.T) {
	for words, want := range map[string]Verdict{
		"": Unknown, "how is the build": Unknown, "How is the build?": Finishes, "It is green.": Finishes,
		"I wanted to ask you about the": GoesOn, "what I mean is, um": GoesOn, "it works and": GoesOn, "let's see...": GoesOn, "first, ": GoesOn,
		"빌드 어떻게 됐어요": Finishes, "테스트 돌려줘": Finishes, "그 작업은": GoesOn, "파일을 고치고": GoesOn, "그러니까": GoesOn, "음": GoesOn,
		"아까 말한 것처럼": GoesOn, "오늘 날씨 알려줘": Finishes, "그만해": Unknown, "네": Finishes, "지금 진행하는데": GoesOn, "됐는데요": Finishes,
		"明日の天気は？": Finishes, "今天天气怎么样？": Finishes, "今天、": GoesOn,
	} {
		if got := Finished(words); got != want {
			t.Errorf("%q: %d, want %d", words, got, want)
		}
	}
}

// Whole turns as a recogniser writes them, without punctuation.
var turns = map[string][]string{
	"en": {"how is the build doing today", "can you run the tests again please", "what did the second agent find out", "stop the task that is running on the server",
		"tell me how much time is left", "I would like you to fix the parser first", "no not that one the other one", "and what about the memory",
		"show me the last three commits", "why does the server need so much memory", "could you ask the reviewer to look at it", "I think we should wait until tomorrow morning",
		"please write a summary and send it to me", "who is working on the database", "is there anything that I have to decide", "when do you think that it will be done",
		"let us start with the smallest problem", "that sounds good to me", "open a new task for the documentation", "how many agents are there right now"},
	"ko": {"지금 빌드 상태가 어때요", "테스트를 다시 돌려 주세요", "두 번째 에이전트가 뭘 찾았는지 알려줘", "서버에서 돌고 있는 작업을 중지해 주세요",
		"시간이 얼마나 남았어요", "먼저 파서를 고쳐 줬으면 좋겠어요", "아니 그거 말고 다른 거요", "그리고 메모리는 어떻게 됐어요",
		"최근 커밋 세 개를 보여줘", "서버가 왜 이렇게 메모리를 많이 쓰나요", "리뷰어한테 한번 봐 달라고 해 주세요", "내일 아침까지 기다리는 게 좋을 것 같아요",
		"요약을 써서 나한테 보내줘", "누가 데이터베이스를 맡고 있어요", "내가 결정해야 할 게 있나요", "언제쯤 끝날 것 같습니까",
		"가장 작은 문제부터 시작합시다", "그거 좋네요", "문서 작업을 새로 하나 열어줘", "지금 에이전트가 몇 명이에요"},
}

// False rates by construction: a prefix of a turn that is taken for finished would end the
// turn at a short pause there; a whole turn that seems to go on waits for its longest.
func TestFalseRates(t *testing.T) {
	for language, all := range turns {
		var prefixes, ends, whole, hangs int
		for _, turn := range all {
			words := strings.Fields(turn)
			for n := 1; n < len(words); n++ {
				prefixes++
				if Finished(strings.Join(words[:n], " ")) == Finishes {
					ends++
				}
			}
			whole++
			if Finished(turn) == GoesOn {
				hangs++
				t.Logf("goes on: %s", turn)
			}
		}
		early, late := float64(ends)/float64(prefixes), float64(hangs)/float64(whole)
		t.Logf("%s: %d of %d prefixes finished (%.1f %%), %d of %d turns go on (%.1f %%)", language, ends, prefixes, 100*early, hangs, whole, 100*late)
		if early > 0.1 || late > 0.1 {
			t.Errorf("%s: false ends %.2f, false waits %.2f", language, early, late)
		}
	}
}

func TestSemanticWait(t *testing.T) {
	for _, e := range []Eagerness{EagerLow, EagerMedium, EagerHigh, EagerAuto, ""} {
		short, unknown, long := SemanticWait(e, Finishes), SemanticWait(e, Unknown), SemanticWait(e, GoesOn)
		if short >= unknown || unknown >= long {
			t.Errorf("%s: %d, %d, %d", e, short, unknown, long)
		}
	}
	for e, ms := range map[Eagerness]int64{EagerLow: 8000, EagerMedium: 4000, EagerAuto: 4000, EagerHigh: 2000} {
		if got := SemanticWait(e, GoesOn); got != audio.FromMilliseconds(ms) {
			t.Errorf("%s waits %d", e, got)
		}
	}
}

func TestBackchannel(t *testing.T) {
	for _, yes := range []string{"uh-huh", "Yeah.", "네", "응, 응", "아 네", "OK", "I see.", "어", "네네... 네"} {
		if got := Backchannel(yes); got != (yes != "네네... 네") {
			t.Errorf("%q: %t", yes, got)
		}
	}
	for _, no := range []string{"", "stop", "yes but why", "네 그런데 빌드는요", "right now please do it", "ok ok ok ok"} {
		if Backchannel(no) {
			t.Errorf("%q is taken for a backchannel", no)
		}
	}
}

func TestStops(t *testing.T) {
	for _, yes := range []string{"stop", "Stop it, please!", "cancel the task", "취소", "그만해", "작업 취소해줘", "그 작업을 중지해주세요", "네 그만"} {
		if !Stops(yes) {
			t.Errorf("%q stops nothing", yes)
		}
	}
	for _, no := range []string{"", "ok", "don't stop", "when does it stop", "the bus stop is where", "취소하지 마", "cancel my subscription to the newspaper"} {
		if Stops(no) {
			t.Errorf("%q stops the work", no)
		}
	}
}

func TestWords(t *testing.T) {
	for text, n := range map[string]int{"": 0, "wait": 1, "wait a moment": 3, "잠깐만 그거": 2, "等一下": 1, "等一下再说吧": 3, " , . ": 0} {
		if got := Words(text); got != n {
			t.Errorf("%q: %d words, want %d", text, got, n)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("네 그런데요, um")
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, s string) {
		Finished(s)
		if Backchannel(s) && Stops(s) {
			t.Fatalf("%q both stops and goes along", s)
		}
		Words(s)
	})
}
