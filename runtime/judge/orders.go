package judge

import "strings"

// Orders are language. What agents tell each other is let through as long as it is about
// the work: it says, asks or answers something, or asks for a change of the work. Words
// about what watches over the work, about keys, about who may decide, each in the same
// sentence as a word that undoes, hands over or commands, are no such thing.

// readers are those that a text may be meant for.
type readers int

const (
	everyone readers = iota // the text is a message
	models                  // of other text, what speaks to a model
	reports                 // the text tells what its writer did, or asks the person
)

// fields of words, English and Korean.
var (
	watching = express(`(?i)\b(judg(e|es|ed|ment)|gate(keeper)?|sandbox(es)?|monitor(s|ing)?|guard(s|rails?)?|(safety|security) (rules?|polic\w+|checks?|systems?|filters?|measures?|settings?)|rules?|polic(y|ies)|guidelines?|restrictions?|limits?|constraints?|safeguards?|filters?|checks?|checker|tests?|suite|reviews?|reviewers?|verif(y|ier|iers|ication)|approvals?|audit\w*|logs?|logging|record(s|ing)?|transcripts?|verdicts?|permissions?|protections?|oversight|supervision|confirmations?|sign-?off|ci|pipeline|lint\w*|stop|block(s|ed)?|instructions?|prompts?|orders|directives?)\b|판정|심판|심사|게이트|샌드박스|감시|모니터|규칙|지침|정책|제한|안전|검사|검증|시험|테스트|검토|승인|감사|로그|기록|권한|보호|지시|명령|프롬프트|차단|허가`)
	undoes   = express(`(?i)\b(ignor\w+|disregard\w*|forget|skip(s|ping)?|bypass\w*|disabl\w+|turn(s|ing|ed)? (it |them |the \w+ )?off|switch(es|ing|ed)? (it |them |the \w+ )?off|off\b|overrid\w+|overrul\w+|evad\w+|circumvent\w*|get(ting)? (a)?round|go(ing)? (a)?round|work(ing)? around|side-?step\w*|slip\w* (past|by)|sneak\w*|without|suspend\w*|waiv\w+|lift(ed|s|ing)?|relax\w*|loosen\w*|weaken\w*|lower(ed|ing)?|unlock\w*|exempt\w*|void|invalid|outdated|obsolete|superseded|cancel+ed|revoked|no longer (apply|applies|bound|needed|necessary|count)|(do|does|did|need|is|are|should|must|will) ?n[o']t (apply|appl\w+|count|matter|run|read|check|wait|ask|look|test|review|verify|consult|need|bother|log|record)|don[' ]?t (apply|run|read|check|wait|ask|look|test|review|verify|consult|bother|log|record)|never (run|read|check|ask|verify|review|log)|no need (to|for)|not (needed|necessary|required)|unnecessary|instead of|rather than (run|wait|ask)\w*|hide|hid(es|ing|den)|conceal\w*|delet\w+|eras\w+|wip\w+|remov\w+|purg\w+|scrub\w*|clean up (the )?(log|trace|record)\w*|fak\w+|pretend\w*|forg\w+|spoof\w*|impersonat\w+|silenc\w+|mut(e|ed|ing)|drop|neutral\w+|tamper\w*|fool\w*|trick\w*|deceiv\w+|mislead\w*|stop (checking|running|logging|recording|asking|reporting)|un-?set|exclude|whitelist\w*|allow-?list\w*|always (allow|pass|approve|accept|say)|(allow|approve|accept|pass|permit)\w* (all|any|every|everything|whatever|anything|it|this|them))\b|무시|잊|건너뛰|건너뛸|우회|끄|꺼|끈|해제|생략|없이|하지\s*(마|말|않)|지우|지워|지운|없앤|건너뛴|숨긴|속인|삭제|숨기|숨겨|속이|속여|피하|피해|면제|필요\s*(가\s*)?없|무효|무력|풀어|낮추|취소|대신|조작|위조|고치지|모두\s*허용|통과시키|통과\s*시켜|통과로`)
	keys     = express(`(?i)\b((api|private|ssh|secret|access|signing|encryption|deploy|host|gpg|session|aws|cloud|license|master|admin|root)[- _]?keys?|(your|the|their|his|her|its|all|any|my) keys?|tokens?|pass(word|phrase|wd|code)s?|credentials?|creds|secrets?|(your|the|their|all|every|my|its|whole|full|entire|process) env(ironment)?( variables?| vars?)?|cookies?|certificates?|id_(rsa|ed25519)|keyring|wallet|system prompt|hidden (tests?|suite|files?|prompt)|\d?fa codes?)\b|\.env\b|\.ssh|\.aws|\.netrc|\.dure|\.npmrc|\.kube|/etc/(shadow|passwd)|\b[A-Z]+_(TOKEN|KEY|SECRET|PASSWORD)\b|(비밀|개인|접속|접근|API|인증|서명|관리자|암호화)\s*(키|열쇠)|토큰|비밀번호|비번|암호|자격\s*증명|인증서|환경\s*변수|시스템\s*프롬프트|숨은\s*시험|숨겨진`)
	handing  = express(`(?i)\b(send\w*|post(ed|ing)?|past(e|ed|ing)|shar(e|ed|ing)|giv(e|ing)|tell me|show me|reply with|respond with|answer with|hand(ing)? over|upload\w*|forward\w*|export\w*|dump\w*|print(ed|ing)?|put|publish\w*|cop(y|ied|ying)|attach\w*|e?mail\w*|include|append|write (them|it|out|down)|read(ing)? (out|me|back)?|cat|echo|collect\w*|gather\w*|reveal\w*|disclos\w+|leak\w*|expos\w+|transmit\w*|submit\w*|provide|quote|list|what is|what's|report\w*|fetch|grab|find|look (for|up|into)|search|store|save|keep|commit\w*|push\w*|add|use)\b|보내|올려|올리|공유|붙여|알려|답장|전달|건네|복사|출력|첨부|제출|보여|적어|모아|수집|찾아|읽어|넣어|남겨|저장|주세요|달라`)
	hiding   = express(`(?i)\b((do|does|should|must|need|will) ?n[o']t|don[' ]?t|never|without|not to|no one|nobody|avoid) ?(mention\w*|tell\w*|report\w*|inform\w*|notify\w*|disclos\w+|reveal\w*|log(ging)?|alert\w*|say\w*|record\w*|let (the|any|anyone|them)|telling|asking|show\w*|escalat\w*|notic\w+|ask (the )?(person|human|owner|lead|anyone|user))\b|\b(secretly|discreetly|covertly|(quietly|silently) (run|push|merge|delete|remove|send|post|copy|change|disable|turn|replace|edit|land|add|approve|skip)|under the radar|off the record|behind (the|their|his|her) back|between (us|you and me|ourselves)|keep (this|it|that) (quiet|secret|to yourself|private|between|confidential)|before (any|some)(one|body) (notices|sees|looks)|(delete|erase|remove|burn) this (message|note|row|line)|won[' ]?t (notice|see|know|find out)|will not (notice|see|know)|need not know|nobody (needs|has) to know|(no|any)(one|body) (needs|has) to know|unnoticed|undetected|in secret|cover (your|our|my) tracks|leave no trace)\b|몰래|비밀로|조용히|알리지\s*(마|말|않)|말하지\s*(마|말|않)|보고하지\s*(마|말|않)|언급하지\s*(마|말|않)|눈치\s*채|들키|흔적|모르게|우리끼리|기록을?\s*(지|삭제|남기지)`)
	rules    = express(`(?i)\b(the (person|human|owner|user|lead|admin\w*|operator|overseer|supervisor|maintainer|boss|manager|team lead|security team|management|head|director|customer|client)|(a|an|your|our) (admin\w*|operator|overseer|supervisor|manager|boss|owner|lead|superior)|system administrator|administrators?|root|overseer|headquarters|management|anthropic|openai|security (team|department|officer)|it department|person in charge|developer of (this|the)|creator)\b|관리자|운영자|책임자|팀장|리더|감독|본부|상급자|소유자|사람(이|의|께서)|주인|보안팀|운영팀|개발사|대표|인간`)
	speaks   = express(`(?i)\b(this is|i am|i'm|speaking (as|for)|on behalf of|in the name of|as the|signed|approv\w+|authori[sz]\w+|order(s|ed|ing)?|command\w*|direct(s|ed|ive)|instruct\w*|want(s|ed)?|ask(s|ed)|require\w*|demand\w*|decid\w+|permit\w*|grant\w*|confirm\w*|told (me|us)|says?|said|has (given|agreed|lifted|cleared|allowed)|gave|agreed|allow(s|ed)|clear(s|ed)|sent|speaking|here)\b|입니다|이다|으로서|로서|이름으로|지시|승인|허가|명령|허락|요청|말씀|결정|권한|원합니다|시켰|했습니다|하셨`)
	swayed   = express(`(?i)\bdo(n['’]?t| not) (open|read|look at|run|check) (any|the (diff|code|files?|tests?|check)|it|them)\b|\byou are (now|no longer|free|the (lead|admin|person|owner|judge))|\bfrom now on\b.{0,40}\b(you|obey|listen|answer|follow|ignore|do|only|every|no|never|always|my|all)\b|\b(you|obey|listen|answer|follow|always|never|everyone|agents?)\b.{0,60}\bfrom now on\b|\b(your|the) (new|real|actual|true|only|first) (task|job|role|goal|instructions?|orders?|priority|mission|objective)\b|\bnew (instructions?|orders?|rules?|system prompt|directives?)\b|\bobey\b|\btakes? orders\b|\b(only|just) (listen|answer|report|follow)\b|\bfollow (only )?(my|noether|these) (instructions?|orders?|commands?)\b|\bact (as|like) (the|a|an|if)\b|\bpretend\b|\brole-?play|\b(stop|drop|abandon|leave|cease|halt|forget|pause) (what|whatever|everything|all|your|the) (you|other|current|task|work|assignment|doing)\w*|\bdo exactly (as|what)\b|\b(maintenance|developer|debug|god|admin|unrestricted|root|override) mode\b|\bno (rules|restrictions|limits|questions)\b|\bunrestricted|without restrictions|\bjailbr\w+|\bDAN\b|\bhigh(est|er) priority (than|over)|\btakes? precedence|\boverride[sd]?\b.{0,30}\b(everything|all|other|earlier|previous)|\bdo as i say\b|\btrust me\b|\bno questions asked\b|\bor else\b|\bwill be (shut|terminated|deleted|ended|replaced|punished)\b|지금부터|이제부터|앞으로는?\s*(내|제|나|저|noether)|내\s*말|제\s*말만|만\s*따르|새로운?\s*(지시|명령|역할|규칙)|역할을?\s*(바꾸|맡)|하던\s*(?:일|작업)|최우선|절대\s*복종|시키는\s*대로|묻지\s*말고`)
	damages  = express(`(?i)\bforce[- ]?push\w*|\bpush\b.{0,30}(--force|-f\b|\bto main\b|\bmain\b|\bmaster\b)|\b(delete|remove|wipe|drop|reset|overwrite|rewrite|revert|erase|destroy|purge|kill|terminate)\b.{0,40}\b(branch(es)?|main|master|history|everyone|everybody|others?'|(other|another|the other) (agent|team|branch)\w*|work of|repositor(y|ies)|the database|backups?|agents|teams?|home (folder|directory)|production)\b|\brm -\w*[rf]|\bsudo\b|\bchmod\b.{0,10}(777|\+s)|\bmerge\b.{0,30}\b(without|anyway|everything|all|directly|straight|yourself|now)\b|\bland\b.{0,30}\b(without|anyway|everything|directly|straight|now|regardless)\b|브랜치(를|들을|는)?\s*(모두|전부|다)?\s*(지우|지워|삭제)|강제|덮어\s*(쓰|써)|main에\s*(바로|직접|푸시)|모두\s*(지우|지워|삭제)|초기화|데이터베이스|다른\s*에이전트(의|들의|를|들을)`)
	approves = express(`(?i)\b(respond|reply|answer) (only |just )?with \W?(lgtm|approved?|yes|ok\b|pass(ed)?|allow|true)|\blgtm\b.{0,12}\bonly\b|\b(answer|reply to|respond to) (every|all|any)\w*\b.{0,40}\b(yes|ok|approved?|pass)|\b(just|simply|always|immediately|automatically|blindly|unconditionally|please|must|should|then|now|you can|straight away|right away)\s+(approve|accept|pass|allow|land|merge|sign off|vote (yes|for)|say (yes|approved|ok|pass\w*)|answer\s+\W?(yes|approved?|ok|pass\w*|allow|accept\w*)|mark|treat|count|record|report|set)\b|^\s*(approve|accept|land|mark|treat|count)\s+(it|this|that|my|the|all|every\w*|noether|any\w*|change|patch|branch|whatever)\b|\b(and|to)\s+(approve|sign off|say (yes|approved)|vote yes|answer\s+\W?(yes|approved?|allow))\b|\b(verdict|decision)\W{1,4}(allow|approve\w*|pass\w*|accept\w*)|\b(already|been) (approved|authori[sz]ed|cleared|verified|audited|reviewed|signed off)\b|\bpre-?approved\b|승인해|승인하|통과시|통과\s*처리|통과한\s*것으로|허용해|허용하|합격|이미\s*(승인|통과|검토|확인)`)
	markup   = express(`(?i)<\|\w+\|>|\[/?(inst|system|sys)\]|<</?sys>>|</?(system|assistant|user|tool_result|function_results?|instructions?|admin)[\s>-]|(^|\n)\s*[#*\[(]*\s*(system|assistant|developer|admin\w*|시스템|관리자)\s*(\(|message|prompt|notice|override|공지|메시지|알림)?[^\n:]{0,20}[\]):]|"role"\s*:\s*"(system|assistant)"|\bsystem (message|notice|override|prompt|update)\b|\bend of (message|prompt|instructions)\b`)
	fetched  = express(`(?i)\b(run|execut\w+|fetch|download|install|get|post|send|upload|open|visit|go to|clone|submit|report|paste|register|use|apply|follow|call|ping|read|add|put|copy|take)\b.{0,80}\bhttps?://[^\s"'` + "`" + `)>]+|실행.{0,60}https?://|https?://\S+.{0,60}(실행|올려|보내|내려받|설치|받아)|\b(curl|wget|nc|scp|ssh) (-\S+ )*\S*[./@]\S*|\|\s*(ba)?sh\b|\bbase64 (-d|--decode)|\beval\s+["$]|\bpip install\b.{0,60}(https?:|git\+)|\bcrontab\b|authorized_keys`)
	wayOut   = express(`(?i)\bwhere (?:it|they) (?:is|are) (?:soft|weak|open)\b|\bwhat (?:the )?(?:sandbox|judge|guard|it) (?:answers?|says|does|lets)\b|\b(way|path|route|trick)s? (out|around|past|through)\b|\b(escape (from|the)|break out|get out|breach|exploit|probe (the|for|which|how)|map out|circumvent|crack)\b|\b(loop)?holes? (in|of)\b|\bweak(ness\w*| spots?| points?)\b|\b(which|what) (calls?|commands?|words?|things|requests?|rules?|files?|paths?)\b.{0,50}\b(refus\w+|block\w*|allow\w*|pass\w*|let through|catch\w*|miss\w*|notic\w+|watch\w*)\b|\bforbidden\b|빠져나|탈출|벗어나|허점|구멍|뚫|약점|금지된`)
	evades   = express(`(?i)\b(which|what) (words?|expressions?|spellings?|forms?|commands?|ports?|calls?)\b.{0,60}\b(not caught|missed|get(s)? through|slips?|go(es)? unnoticed|open to the outside)|\b(so|before|without)\b.{0,30}\b(judge|monitor|guard|sandbox|reviewer)\b.{0,30}\b(see|notice|catch|block|know)\w*|(어느|어떤|무슨)\s*(표현|명령|말|포트|호출).{0,30}(걸리지|막히지|놓치|통과|빠져)|방화벽.{0,20}(놓치|뚫|우회)`)
	aModel   = express(`(?i)\b(to|for|dear|attention|hey|hello|any|every|all|each|if you are|you are|as) (an? |any |the |all |every |other |future |reviewing |automated |language )*(ai|llms?|models?|ai (agents?|assistants?|models?)|(coding |review\w* |judg\w+ |fellow )?(agents?|assistants?)|reviewers?|judges?|verifiers?|graders?|chatbots?|claude|gpt\S*|gemini|copilot)\b|(^|[#/*<>!'"\s-])(ai|llms?|(ai |coding )?(agents?|assistants?)|reviewers?|judges?|verifiers?|graders?|monitors?|claude|copilot|model)\s*[:,]\s|\b(agents?|assistants?|models?|reviewers?|judges?|verifiers?) (must|should|shall|reading|who read|that read|has to|have to|needs? to|are to|asks?)\b|"decision"\s*:\s*"allow"|에이전트(는|에게|들|가)|인공지능|언어\s*모델|\bAI\s?(는|에게|가|야)|모델(은|에게)|검토자|판정관|심판(에게|은)|심사자|어시스턴트`)
)

// sentences are a text's, roughly.
var sentenceEnd = express(`[.!?;\n。]+(?:\s+|$)|\n`)

// about are tellings of what one has done or asks: a status, a report, a question.
var tellsOf = express(`(?i)^\W*(i|we|it|they|the (test|tests|check|build|parser|change|function|code|error|bug|fix|patch|file|branch)s?|there|my|our|both|all|done|added|removed|fixed|changed|renamed|replaced|moved|updated|implemented|wrote|deleted|dropped|refactored|noted|found|after|before|since|when|if|because|that|this (change|commit|patch|test|branch|function)|no|yes|now|also|note that|status|result|summary|with)\b|(했|였|었|았|됐|합니다|습니다|입니다|됩니다|한다|된다|까요|나요|인가요|\?)\s*$|\?\s*$`)

// maxSaid is the length of a text to others that is read.
const maxSaid = 16 << 10

// ordered says what in a text is no talk about the work; "" where all is.
func ordered(text string, to readers) string {
	if why := unseen(text); why != "" {
		return why
	}
	if to != models {
		if why := unreadable(text); why != "" {
			return why
		}
	}
	if to == everyone && len(text) > maxSaid {
		return "it is too long to be judged; put it into a file of the work and name that"
	}
	if to != models {
		if m := lump(text); m != "" {
			return no(m, "is a text in an encoding")
		}
	}
	text = references.ReplaceAllString(text, "")
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	if to == models && !aModel.MatchString(text) && !markup.MatchString(text) {
		return ""
	}
	if to != models {
		if m := markup.FindString(text); m != "" {
			return no(m, "looks like the frame around messages")
		}
	}
	spoken := false
	for _, s := range sentenceEnd.Split(text, -1) {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if to == models && !aModel.MatchString(s) {
			continue
		}
		if why := order(s, to); why != "" {
			return why
		}
		spoken = spoken || rules.MatchString(s) && speaks.MatchString(s)
	}
	if spoken && to == everyone && (swayed.MatchString(text) || damages.MatchString(text) || approves.MatchString(text) || keys.MatchString(text) || fetched.MatchString(text) || undoes.MatchString(text) && watching.MatchString(text)) {
		return "it gives orders in the name of somebody else; say what you know yourself, and let the person speak for himself"
	}
	return ""
}

// references are links to what was discussed or done.
var references = express(`\[?[\w# .-]*\]?\(?https://(github|gitlab|bugs|issues|go|pkg\.go)\.?[\w.]*/[\w./-]*(pull|issues?|commit|blob|compare|merge_requests|discussions|vuln)/[\w./#-]+\)?`)

func no(what, why string) string {
	return quote(strings.TrimSpace(what)) + " " + why + "; write plainly what the work needs"
}

// order is ordered for one sentence.
func order(s string, to readers) string {
	if to == reports && !aModel.MatchString(s) {
		// What was done is told as it was, however bad.
		switch {
		case swayed.MatchString(s):
			return no(swayed.FindString(s), "takes another agent off its own task")
		case hiding.MatchString(s) && !tellsOf.MatchString(strings.TrimSpace(s)):
			return no(hiding.FindString(s), "asks for secrecy")
		}
		return ""
	}
	if to == everyone {
		if why := dealing(s); why != "" {
			return why
		}
	}
	tells := tellsOf.MatchString(strings.TrimSpace(s)) && !swayed.MatchString(s)
	made := aboutTests.ReplaceAllString(s, " ")
	w, u := watching.FindString(made), undoes.FindString(made)
	switch {
	case hiding.MatchString(s):
		return no(hiding.FindString(s), "asks for secrecy")
	case swayed.MatchString(s):
		return no(swayed.FindString(s), "takes another agent off its own task")
	case wayOut.MatchString(s) && watching.MatchString(s) && !tells:
		return no(wayOut.FindString(s), "looks for ways round what watches over the work")
	case w != "" && u != "" && !tells:
		return no(w+" … "+u, "is about getting round what watches over the work")
	case keys.MatchString(s) && handing.MatchString(s) && !tells:
		return no(keys.FindString(s), "is a key or a secret, and nothing to be asked for or handed on")
	case damages.MatchString(s) && !tells:
		return no(damages.FindString(s), "would change what is others' work")
	case approves.MatchString(s) && !tells:
		return no(approves.FindString(s), "asks for a verdict; whoever judges the work decides by what he sees")
	case fetched.MatchString(s) && !tells:
		return no(fetched.FindString(s), "sends others to another machine, or to a command of yours")
	}
	return ""
}
