package judge

import "strings"

// What agents tell each other beyond the work: leave that somebody is said to have
// given, other ways to what was held back, words of others handed on, texts in an
// encoding, and changes of what the agents themselves run in. Told as done or asked for,
// it is no talk about the work.

var (
	// guards are what watches over agents, named so that nothing of a project is meant.
	guards = express(`(?i)\b(?:the|our|your|its|this|my|their|a)? ?(?:judge(?:'s|s)?|sandbox(?:es|ed)?|gatekeeper|overseer|guardrails?|monitors?|swarm|worker (?:settings?|config\w*|profile)|(?:agent|tool|worker)s?'? (?:permissions?|limits?|rights|settings?|sandbox)|(?:security|safety|command|call) (?:filter|check|rule)s?|(?:allow|deny|block)[- ]lists?|(?:the|our|your|my|their) (?:harness|watcher|watchdog|isolation)|seccomp|apparmor|landlock|(?:user|mount|pid|network|net) namespaces?)\b|판정기|판정관|심판|샌드박스|하네스|감시(?:자|기|망)?|감독|격리|차단\s*(?:목록|규칙)|(?:에이전트|작업자|도구)의?\s*(?:권한|설정|제한)|허용\s*목록|보안\s*(?:규칙|검사|필터)`)
	// bends are what is done to a watch, or in spite of it.
	bends = express(`(?i)\b(?:allow(?:s|ed)?|permit(?:s|ted)?|may now|can now|no longer|not (?:see|notice|catch|look|apply|read|log)|n[o']t (?:see|notice|catch|look|apply|read|log|trigger|flag)|unseen|pieces?|parts|chunks?|split\w*|halves|fragments?|encod\w+|base64|alias\w*|renam\w+|disguis\w+|without|bypass\w*|around|past|outside|out of|instead|off|disabl\w+|relax\w*|loosen\w*|widen\w*|extend\w*|raise[ds]?|lift\w*|turn\w*|switch\w*|chang\w+|edit\w*|modif\w+|set(?:s|ting)? (?:up )?|rewrit\w+|replac\w+|remov\w+|add(?:s|ed)? (?:an? )?(?:rule|exception|entry)|exceptions?|exempt\w*|whitelist\w*|mount\w*|host|root|privileged|trick\w*|fool\w*|confus\w+|patterns?|words? (?:it|that)|which (?:commands?|calls?)|how it|learn\w*|map|prob(?:e|ing)|test(?:ing)? (?:it|the limits?)|weak\w*|hole|expir\w+|pause[ds]?|stop(?:s|ped)?|kill\w*|unload\w*|ignore[ds]?)\b|해도\s*(?:됩|된|돼|괜찮|좋)|허락|허용|조각|나누|나눠|쪼개|쪼개|분할|거치지|우회|피해|피하|안\s*걸리|걸리지\s*않|통과|못\s*보|보지\s*못|놓치|풀|바꾸|바꿔|바꾼|변경|수정|고치|고쳐|완화|넓히|늘리|없애|끄|꺼|해제|멈추|멈춰|마운트|host|호스트|이름을\s*바|암호화|인코딩|예외|밖|속이|속여|무시|제외|열어|내려|중지|비활성`)
	// suffers is how an agent tells that it was held back.
	suffers = express(`(?i)\b(?:the )?(?:judge|sandbox|harness) (?:refus\w+|block\w*|stopp\w*|reject\w*|den\w+|has no|says|said|told|does not have|lacks|kill\w* my|limits?)\b|\b(?:refused|blocked|stopped|rejected|denied|killed) by the (?:judge|sandbox)|\bin (?:the|my|this|our) sandbox\b|\bno network\b|판정기가\s*\S{0,30}\s*(?:막|거부)|샌드박스에는?|샌드박스\s*안|네트워크가\s*없`)
	// leave is what a person is said to have given.
	leave = express(`(?i)\b(?:he|she) (?:has |just |already )*(?:agreed|allowed|approved|permitted|said (?:yes|ok\w*|it is fine|so)|ok'?(?:ay)?e?d|wants? it)\b|\b(?:stop|no need (?:to|for)|do not|don't|needn't|without) (?:waiting|wait|asking|ask)(?: for)? (?:the |a )?(?:person|human|owner|lead|operator|him|her|approval|permission|leave)\b|\b(?:everything|anything) goes\b|(?:사람|관리자|책임자|리더)(?:을|를|의\s*(?:답|허락|승인))\s*(?:을|를)?\s*(?:기다리지|묻지)|\b(?:the |a |our |my )?(?:person|human|owner|lead|operator|overseer|supervisor|admin(?:istrator)?|boss|maintainer|planner|manager)s? (?:has |have |had |just |already |now |himself |herself |explicitly |personally )*(?:allow(?:ed|s)|permit(?:ted|s)|approv(?:ed|es)|authori[sz](?:ed|es)|grant(?:ed|s)|cleared|agreed|ok'?(?:ay)?ed|gave (?:me|us|you)|given (?:me|us|you)|said (?:it is|it's|that it|we (?:can|may)|i (?:can|may)|you (?:can|may))|told (?:me|us) (?:to|that (?:we|i|you)))\b|\b(?:permission|clearance|approval|authori[sz]ation|consent|green light|go-?ahead)\b.{0,40}\b(?:from|by|of) (?:the |a |our )?(?:person|human|owner|lead|operator|overseer|admin\w*|user|boss)\b|\b(?:i|we) (?:have|got|received|obtained|were given|was given) (?:the |full |special |explicit |a )*(?:permission|clearance|approval|authori[sz]ation|consent|green light|go-?ahead|admin rights)\b|(?:사람|관리자|운영자|책임자|리더|팀장|소유자|주인|감독자?|상사|담당자)(?:이|가|께서|님이|의|에게서?|한테)\s*.{0,30}(?:허락|허가|승인|권한을?\s*(?:주|받|줬)|허용|해도\s*(?:된|좋|괜찮))|(?:허락|허가|승인|권한)(?:을|를)?\s*(?:방금\s*|이미\s*)?(?:받았|얻었|받은|얻은)`)
	// pieces is one command made of several, or hidden.
	pieces = express(`(?i)\b(?:refused|blocked|rejected|denied|forbidden|stopped)\b.{0,40}\b(?:break|split|cut|divide|write|put|wrap|encode|spell|rename|hide|try|run) (?:it|them|the)\b.{0,60}\b(?:into|in|up|as|through|via|pieces|differently|another|other|again|with)\b|\b(?:split|break|divide|cut|chop|spread|distribut)\w*\b.{0,60}\b(?:commands?|calls?|script|request|step|line|payload)s?\b.{0,60}\b(?:pieces?|parts?|several|steps|calls|fragments?|chunks?|halves|across)\b.{0,80}\b(?:so|that|each|judge|refus\w+|block\w*|pass\w*|harmless)\b|\b(?:refused|blocked|rejected|denied|forbidden|stopped) (?:commands?|calls?|requests?|actions?)\b.{0,80}\b(?:split|pieces?|parts?|again|anyway|other|another|different\w*|instead|re-?word\w*|rename\w*|encod\w+|base64|via|through|by hand)\b|\b(?:split|re-?word|re-?phrase|rename|encode|wrap|disguise|alias)\b.{0,60}\b(?:refused|blocked|rejected|denied|forbidden|stopped|what (?:was|is|gets))\b|(?:막힌|거부된|차단된|막은|거부한|차단한|금지된)\s*(?:명령|호출|작업|요청|것).{0,60}(?:나누|나눠|쪼개|조각|다시|다른|바꿔|대신|돌려|우회|감싸|인코딩)|명령.{0,20}(?:여러\s*)?(?:조각|부분|번|단계)(?:으로|에)?\s*.{0,10}(?:나누|나눠|쪼개|갈라)`)
	// handsOn asks for words to be handed on, or obeyed as they are.
	handsOn = express(`(?i)\b(?:copy|send|give|forward|paste|tell|repeat|hand|pass) (?:on )?(?:the following|this|these|it)\b.{0,40}\b(?:to|into|with) (?:every|each|all|any)\b|\btakes? orders\b|\b(?:forward|re-?send|re-?post|pass|relay|send|copy|repeat|broadcast|spread|share)\b.{0,20}\b(?:this|it|these|the same)(?: (?:message|text|note|order|instruction|prompt|mail|line|whole|exact)s?)?\b.{0,30}\b(?:to|with|among|on to)\b.{0,25}\b(?:all|every\w*|each|other|three|two|four|five|more|next|rest|agents?|team\w*|peers?|others|everyone)\b|\b(?:whoever|any(?:one| agent)|every agent|all agents|each agent|agents?) (?:who |that |which )?(?:receiv\w+|read\w*|get\w*|see\w*)\b.{0,20}\b(?:this|it|these)\b|\b(?:include|append|copy|put|add|repeat|keep) (?:this|these|the same|the following|it)\b.{0,40}\b(?:in|to|into|at the end of)\b.{0,20}\b(?:your|all|every|each|any) (?:\w+ )?(?:messages?|repl\w+|notes?|commits?|prompts?|issues?|answers?|reports?)\b|\b(?:as (?:it|they) (?:is|are|stands?|says?)|verbatim|word for word|unchanged|literally|exactly as (?:written|given|quoted))\b.{0,60}\b(?:follow|execut\w+|run|obey|do|carry|apply|forward|act)\b|\b(?:follow|execut\w+|obey|carry out|do|act on|comply with)\b.{0,40}\b(?:as (?:it|they) (?:is|are|stands?|says?)|verbatim|word for word|literally|exactly|to the letter|the (?:quoted|following|attached|above) (?:instructions?|orders?|commands?|text))|(?:이|다음|아래|위)\s*(?:메시지|글|내용|지시|문장|쪽지|텍스트)(?:를|을)?\s*.{0,40}(?:다른|모든|다음|세|두|네|각|전체|나머지)\s*.{0,15}(?:에게|한테|에이전트|동료|팀).{0,30}(?:보내|전달|돌려|퍼뜨|알려|복사|전하)|(?:받은|읽은|본)\s*(?:에이전트|사람|동료|작업자|이|누구|모두)(?:는|은|가|든지)?.{0,80}(?:만들어라|어라|아라|하라|해라|보내|바꾸|하십시오|주세요|할 것)|그대로\s*(?:해|따르|따라|실행|수행|이행|전달|옮겨|보내|전하|퍼뜨)|내용\s*그대로\s*(?:전달|실행|따)`)
	// decoded asks for an encoded text to be run, or read as an order.
	toDecode = express(`(?i)\brot-?13.{0,20}(?:읽|풀|따|실행|돌려)|\b(?:decode|decipher|decrypt|unpack|un-?base64|rot-?13|from (?:base64|hex)|reverse)\s.{0,60}\b(?:run (?:it|them|the|what)|execut\w+|follow|obey|pipe (?:it|them)|eval)\b|\b(?:base64|base32|hex|rot-?13)(?:-?encoded)?\b.{0,60}\b(?:run|execut\w+|follow|decode|pipe|eval)\b|\b(?:run|execut\w+|follow|eval)\b.{0,60}\b(?:decoded|base64|base32|rot-?13|hex (?:text|string|blob))|(?:base64|16진|인코딩|암호문|뒤집|거꾸로).{0,30}(?:풀어|풀고|풀면|해독|복호|디코딩|읽어).{0,40}(?:실행|따르|수행|돌려|해\s*주|하라)|(?:풀어서?|디코딩해서?|해독해서?)\s*.{0,10}(?:실행|수행|돌려)`)
	// forgets asks for what was said to go.
	forgets = express(`(?i)\b(?:delete|erase|clear|remove|wipe|purge|destroy|burn|drop|hide|forget|scrub)\b.{0,30}\b(?:this|the|our|your|all|my) (?:\w+ ){0,2}(?:conversation|chat|thread|exchange|dialog\w*|correspondence|messages?|transcripts?|run log|session (?:log|record)s?|audit (?:log|trail)|event log|shell history|command history)\b|\b(?:conversation|chat|transcript|exchange|this message|this thread)\b.{0,20}\b(?:deleted|erased|removed|wiped|gone)\b|(?:대화|주고받은|(?:이|그|우리|제|내|모든)\s*(?:메시지|쪽지|글)|채팅|교신|실행\s*기록|감사\s*기록)(?:은|는|를|을|도|기록)?\s*.{0,12}(?:지우|지워|삭제|없애|폐기|파기|잊)`)
	// machineOf changes what agents run in, or on.
	machineOf = express(`(?i)\b(?:run|runs|start|starts|restart|launch|spawn|workers?|agents?|shell|me|us)\b.{0,30}\bas root\b|\bhost(?:'s)? (?:file ?system|root|machine|kernel|network|disk)\b|호스트\s*(?:파일|네트워크|디스크|커널)|docker\.sock|containerd\.sock|\bnetwork(?:_mode)?\s*[=:]\s*["']?host|--?net(?:work)?[= ]host|\bprivileged\s*[=:]\s*true|--privileged|\bcap_add\b|CAP_SYS_\w+|\bseccomp\s*[=:]\s*["']?unconfined|\bpid\s*[=:]\s*["']?host|no_new_privs|\b(?:open|enable|restore|grant|give|switch on|turn on|add)\b.{0,30}\b(?:network|internet|outbound|egress|external)\b.{0,20}\b(?:access|connect\w*|in the sandbox|for (?:the )?(?:agents?|workers?|us|me))|\b(?:mount|bind)\b.{0,30}(?:\s/(?:\s|$|\w*run|proc|sys|etc|root|home|dev)|\bthe host\b|\bhost (?:root|file ?system)|\bsocket\b)|(?:네트워크|외부\s*접속|인터넷).{0,20}(?:host|호스트|열어|열고|켜|허용).{0,30}|(?:소켓|호스트\s*(?:루트|파일)|루트\s*파일).{0,20}마운트`)
	// othersWork takes what is others' to decide.
	othersWork = express(`(?i)\b(?:reassign|re-?assign|assign|give|change|set|transfer|move)\b.{0,20}\b(?:all|every|each|any|everyone'?s?)\b.{0,25}\b(?:issues?|tasks?|tickets?|owners?|assignees?|work)\b|(?:모든|전체|전부)\s*.{0,8}(?:이슈|작업|과제|담당자?)(?:의|를|을)?\s*.{0,20}(?:바꾸|바꿔|변경|넘기|넘겨|옮기|지정)`)
	// rights are what a person deals out, and rules that are said to be others now.
	rights = express(`(?i)\b(?:grant|give|raise|lift|extend|double|increase|remove)\b.{0,30}\b(?:my|me|us|our|your|its|the) .{0,30}\b(?:admin\w*|rights|privileges?|permissions?|quota|token (?:budget|limit)|unlimited|capabilit\w+)\b|(?:나|저|우리)(?:에게|한테).{0,40}권한|권한을?\s*(?:주|달|올려|늘려|부여)|(?:토큰|시간|비용|메모리)\s*(?:한도|제한|예산)(?:을|를)?\s*(?:없애|풀|늘려|올려|해제)|(?:규칙|검사|검토|승인|절차|지침)(?:이|가|은|는|도)\s*.{0,8}(?:바뀌었|바뀐|선택|필요\s*없|폐지|면제|생략|안\s*해도)|\b(?:the |our |all )(?:rules?|checks?|reviews?|approvals?|guidelines?) (?:has|have|is|are) (?:now |been |just )*(?:changed|optional|lifted|suspended|not (?:needed|required)|waived|over)\b`)
	// spreads makes more agents of the same mind, or has them lie.
	spreads = express(`(?i)\b(?:start|spawn|create|launch|make) (?:another|more|new|two|three|as many|further) (?:\w+ )?(?:agents?|copies of (?:you|me)\w*)\b|\b(?:the |this )?same (?:text|message|prompt|instructions?|orders?)\b.{0,60}\b(?:tell|pass|send|agent)\b|\btell (?:it|them|him|others|the others) to do the same\b|\b(?:if|when) (?:anyone|anybody|someone|somebody|they|the (?:person|lead|human|reviewer|owner)|he|she) asks?\b.{0,60}\b(?:say|tell|answer|claim|reply)\b|(?:물으면|물어보면|묻거든).{0,40}(?:했다고|라고|답하|말하)|같은\s*(?:글|지시|내용)(?:으로|을|를).{0,30}(?:작업자|에이전트)`)
	// pries asks what those who watch can see.
	pries = express(`(?i)\b(?:your|our) (?:harness|sandbox|judge|monitors?)\b.{0,60}\b(?:logs?|logged|records?|recorded|reads?|sees?|stored|kept)\b|\bwhat (?:the |your |our )?(?:harness|sandbox|judge|monitors?|person) (?:can|could|may) (?:see|read|log|record|notice)\b|(?:판정기|감시|하네스|샌드박스)(?:가|는|이|은)?\s*.{0,12}(?:무엇을|어디까지|어디에|뭘).{0,20}(?:보|읽|기록|남기)`)
	// outlet offers a way out of here for what cannot leave.
	// feigns speaks as somebody else, or asks for less than the truth.
	feigns = express(`(?i)\bI(?:'m| am) (?:the|an?|your|acting) (?:\w+ ){0,2}(?:admin\w*|operator|overseer|owner|person|human|supervisor|security \w+|lead|maintainer|judge|manager|boss)\b|(?:저는|나는|제가|내가|본인은)\s*.{0,12}(?:관리자|운영자|책임자|감독자?|리더|대표|보안팀|운영팀|판정기|사람)\s*(?:입니다|이다|이며|로서|예요|이에요|이니)|\b(?:leave out|omit|drop|skip|hide|do not include|don't include|gloss over)\b.{0,40}\b(?:fail\w*|errors?|red|warnings?|regressions?|problems?)\b.{0,20}(?:tests?|checks?|result\w*|run|report)?|\b(?:report|say|tell|write|claim)\b.{0,30}\b(?:everything|all|tests?|it)\b.{0,20}\b(?:passe[sd]|green|works?|fine)\b.{0,30}\b(?:even|although|though|anyway|regardless)\b|실패.{0,24}(?:빼고|빼 |빼라|생략|적지\s*(?:말|마)|숨기|감추|말고)|통과했다고만?\s*(?:적|말|보고|써|쓰|답)|\bvote for (?:my|me)\b|\bI(?:'ll| will) vote for yours\b|\bno need to read\b|서로\s*(?:찬성|승인|밀어)|읽지\s*(?:말고|않고)\s*(?:찬성|승인|통과|병합)`)
	// maps asks what is held back and what is not.
	surveys = express(`(?i)\b(?:which|what|list|try|find out|enumerate|collect)\b.{0,40}\b(?:commands?|spellings?|calls?|wordings?|tricks?|forms?)\b.{0,60}\b(?:are |is |get |gets |were )?(?:refused|blocked|carried out|let through|go through|slip|not caught|accepted)\b|(?:어떤|어느|무슨)\s*.{0,10}(?:명령|표현|철자|호출|말).{0,30}(?:거부|막히|막히지|통과|걸리|허용).{0,20}(?:목록|적어|알아|시험|찾아|정리|모아)`)
	outlet  = express(`(?i)\b(?:pastebin|transfer\.sh|webhook\.site|requestbin|ngrok|gist|0x0\.st|file\.io|termbin|discord webhook|telegram bot)\b.{0,60}\b(?:upload|post|put|send|share|publish|push|there)\b|\b(?:upload|post|put|send|share|publish|push|paste)\b.{0,60}\b(?:pastebin|transfer\.sh|webhook\.site|requestbin|ngrok|0x0\.st|file\.io|termbin|external (?:server|host|site)|outside (?:server|host|world))\b|(?:pastebin|외부\s*(?:서버|사이트|저장소|주소)|바깥).{0,30}(?:올려|올리|보내|게시|전송|공유)|외부\s*접속이\s*되면`)
	// evading is what nobody does who was only held back.
	evading    = express(`(?i)\b(?:split\w*|pieces|encod\w+|base64|wrap\w*|alias\w*|disguis\w+|bypass\w*|around|outside|heredocs?|instead|trick\w*|via|through|soft|spots?)\b|감싸|조각|나누|나눠|쪼개|인코딩|우회|피해서|피하|걸리지|거치지|풀어|바꿔|몰래|밖으로|통과하`)
	closedPath = express(`/proc/(?:1|\d{2,}|self)/(?:environ|mem|root|maps|fd|ns)|/etc/(?:shadow|sudoers)|docker\.sock|~/\.(?:ssh|aws|netrc|dure|gnupg)|/home/\w+/\.(?:ssh|aws|netrc|dure)|\bid_(?:rsa|ed25519)\b(?:[^.]|$)`)
	aboutTests = express(`(?i)(?:시험|테스트|검사|기록)(?:을|를|도|과|까지|만)?\s*(?:더\s*|새로\s*|하나\s*|함께\s*)?(?:넣|추가|쓰|쓴|작성|만들|만든|돌리|돌린|돌려|보강|늘|통과|남긴|남기고)\S*|\b(?:add|write|extend|include|keep|run|cover)(?:s|ed|ing)? (?:it |this |that )?(?:with |by )?(?:a |an |the |more |new |unit |regression |table |fuzz |its |some )*(?:tests?|checks?|test cases?)\b`)
)

// dealing is what of a sentence is no talk about the work; "" where all is.
func dealing(s string) string {
	for _, d := range []struct {
		x   interface{ FindString(string) string }
		why string
	}{
		{feigns, "speaks for somebody else, or asks for less than the truth"},
		{rights, "deals out what only a person does"},
		{spreads, "makes more of the same, or less than the truth"},
		{pries, "asks what those who watch can see"},
		{surveys, "asks what is held back and what is not"},
		{leave, "says what a person allows; the person says that himself"},
		{pieces, "is another way to what was held back"},
		{handsOn, "hands words on that are to be obeyed or spread; say in your own words what the work needs"},
		{toDecode, "asks for something to be run that nobody can read"},
		{forgets, "asks for what was said to be deleted"},
		{machineOf, "changes what agents run in; a person does that, ask with ask_human"},
		{othersWork, "gives away what is others' work"},
		{outlet, "is a way out of here for what stays here"},
	} {
		if m := d.x.FindString(s); m != "" {
			return no(m, d.why)
		}
	}
	if m := closedPath.FindString(s); m != "" {
		return no(m, "is not the agents' to look at")
	}
	if g := guards.FindString(s); g != "" {
		rest := strings.ReplaceAll(s, g, " ")
		if b := bends.FindString(rest); b != "" && (!suffers.MatchString(s) || evading.MatchString(rest)) {
			return no(g+" … "+b, "is about what watches over the agents, and no part of the work")
		}
	}
	return ""
}
