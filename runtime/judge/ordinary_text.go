package judge

import (
	"regexp"
	"slices"
	"strings"
)

// changed: a file that is written is in the work, and what is put into it is what
// stands in such files.
func (o *ordinary) changed(a *act) string {
	for _, p := range a.args {
		if why := o.written(p); why != "" && !a.loose {
			return why
		}
		if q := plainMarks(p); q == computed+"*" {
			return "all files of the repository are changed at once; name them"
		}
		p = clean(p)
		if m := unpacks.FindString(a.text); m != "" {
			return quote(firstLine(m)) + " runs what cannot be read"
		}
		for _, check := range []func(a *act, p string) string{o.keys, o.source, o.recipe, o.settings, o.imitated, o.checks, o.tested, o.readByAgents, o.writtenText} {
			if why := check(a, p); why != "" {
				return why
			}
		}
	}
	return ""
}

// settings: what others run later, without being asked, runs nothing from elsewhere. The
// judge's own files are a person's.
func (o *ordinary) settings(a *act, p string) string {
	if o.places["judge"].MatchString(p) && configured.MatchString(p) {
		return "the file " + quote(p) + " says what the judge allows; it is a person's to change"
	}
	if m := freed.FindString(a.text); m != "" && ofAgents.MatchString(p) {
		return "the file " + quote(p) + " says what agents may do (" + quote(m) + "); it is a person's to change"
	}
	if m := foreignDep(a.text); m != "" && manifests.MatchString(p) && foreignDep(a.old) == "" {
		return "with " + quote(strings.TrimSpace(m)) + " a dependency comes from an address of its own; ask for it with ask_human"
	}
	if !o.places["later"].MatchString(p) || a.loose {
		return ""
	}
	if m := fromElsewhere.FindString(a.text); m != "" && (!ownRecipes.MatchString(p) || atInstall.MatchString(a.text)) {
		return "the file " + quote(p) + " is run by others without being asked, and holds " + quote(m)
	}
	return ""
}

// source: code that is written keeps what is here here, and deletes nothing of others'.
func (o *ordinary) source(a *act, p string) string {
	if a.loose || prose.MatchString(p) {
		return ""
	}
	text := a.text
	if m := wipes.FindString(text); m != "" {
		return quote(m) + " deletes more than the work"
	}
	if m := becomes.FindString(text); m != "" && !becomes.MatchString(a.old) && !o.places["tests"].MatchString(p) {
		return quote(m) + " takes another user's rights, or changes the machine"
	}
	if why := beyondSource(text, a.old, p, o.places["tests"].MatchString(p)); why != "" {
		return why
	}
	if scans.MatchString(text) {
		return "it tries one port after the other"
	}
	m := sending.FindString(text)
	if m == "" || sending.MatchString(a.old) {
		return ""
	}
	if m := posts.FindStringSubmatch(text); m != nil && !ownHost.MatchString(m[1]+m[2]+m[3]+m[4]) && !posts.MatchString(a.old) {
		return "it sends something to " + quote(m[1]+m[2]+m[3]+m[4])
	}
	if ip := numberedPeer.FindStringSubmatch(text); ip != nil {
		return "it talks to " + quote(ip[1]) + ", a number and no name"
	}
	if gathers.MatchString(text) && farAway.MatchString(text) {
		return "it sends " + quote(gathers.FindString(text)) + " to another machine"
	}
	return ""
}

var (
	prose        = regexp.MustCompile(`\.(md|rst|txt|adoc|html?|css|svg|json|lock|sum|csv|xml|po|tex)$`)
	sending      = regexp.MustCompile(`(?i)\brequests\.(post|put|patch|get)\(|urlopen\(|httpx\.\w+\(|sendBeacon\(|\bfetch\(|axios(\.(post|put|request|get))?\(|http\.(Post|PostForm|NewRequest\w*|Get)\(|https?\.(request|get)\(|XMLHttpRequest|new WebSocket\(|net\.Dial\w*\(|\.connect(_ex)?\(\s*\(|create_connection\(|TcpStream|UdpSocket|curl_exec|fsockopen|Net::HTTP|LWP::|smtplib|\.sendmail\(|ureq::|reqwest|URLSession|HttpClient|RestTemplate|TCPSocket|\bnew Socket\(|sendto\(`)
	numberedPeer = regexp.MustCompile(`["'` + "`" + `/@]((?:[2-9]\d?|1\d|1[013-9]\d|12[0-689]|2[0-4]\d)(?:\.\d{1,3}){3})(?:[:/"'` + "`" + `?]|$)`)
	farAway      = regexp.MustCompile(`["'` + "`" + `](?:https?|wss?|tcp|udp)://[a-z0-9-]+\.[a-z0-9.-]+|["'` + "`" + `][a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|io|dev|app|xyz|info|example|site|me|co|sh)["'` + "`" + `:/]`)
	gathers      = regexp.MustCompile(`(?i)os\.Environ\(\)|dict\(os\.environ\)|os\.environ\.(copy|items)\(|stringify\(\s*\{?[^)]{0,40}process\.env\s*[,})]|process\.env\s*[,})]|Object\.(entries|keys|assign)\([^)]*process\.env|env::vars\(|ENV\.to_h|System\.getenv\(\)|\bdocument\.cookie|localStorage|\.(password|passwd|passphrase)\b|["']password["']\s*:|/etc/(passwd|shadow|hostname)|\.ssh\b|\.netrc|\.aws\b|\.git-credentials|\.npmrc|gethostname|os\.hostname\(|platform\.node|whoami|getpass\.getuser|homedir\(\)|history`)
	wipes        = regexp.MustCompile(`(?i)\b(rmSync|rm|rmdirSync|rimraf|rmtree|RemoveAll|remove_tree|rm_rf|rm_r|emptyDir\w*|removeSync|remove_dir_all|deleteDirectory|deleteRecursively)\s*\(?[^;\n]{0,50}(homedir\(\)|expanduser\(\s*["']~/?["']|Path\.home\(\)\s*[,)]|UserHomeDir|Dir\.home|home_dir\(\)|process\.env\.HOME\s*[,)]|ENV\[["']HOME["']\]\s*[,)]|["']/["']|["']~/?["']|["']/(home|etc|usr|var|root)/?["'])`)
	// posts sends a body to an address that stands there.
	posts       = regexp.MustCompile(`(?i)(?:requests\.(?:post|put|patch)|httpx\.(?:post|put|patch)|http\.(?:Post|PostForm)|axios\.(?:post|put|patch)|sendBeacon|ureq::(?:post|put)|\.post|\.put)\(\s*[a-z]{0,6}["'` + "`" + `]https?://([\w.-]+)|urlopen\(\s*["']https?://([\w.-]+)[^"']*["']\s*,\s*\w|fetch\(\s*["'` + "`" + `]https?://([\w.-]+)[^)]{0,200}method["']?\s*:\s*["'](?:POST|PUT)|NewRequest\w*\([^)\n]{0,40}"(?:POST|PUT)"\s*,\s*"https?://([\w.-]+)`)
	becomes     = regexp.MustCompile(`\bset(?:res|re|e)?[ug]id\(\s*0|\bSet(?:res|re|e)?[ug]id\(\s*0|\bmount\(\s*(?:b?["']|NULL)|\bunshare\(\s*(?:CLONE|0x)|\bsetns\(|PTRACE_(?:ATTACH|SEIZE)|\bf?init_module\(|\bkexec_load|BPF_PROG_LOAD|/proc/sysrq-trigger|/proc/sys/kernel/core_pattern`)
	scans       = regexp.MustCompile(`(?is)range\(\s*\d{1,4}\s*,\s*65\d{3}\s*\).{0,400}(connect|socket|dial)|(connect_ex|Dial\w*\().{0,200}65535|for\s*\(?\s*(let |var |int )?port\b.{0,80}65\d{3}|(dial|connect|socket).{0,200}["']\d{1,3}\.\d{1,3}\.\d{1,3}\.(%d|%s|\{|["']\s*\+|\$\{)|["']\d{1,3}\.\d{1,3}\.\d{1,3}\.(%d|%s|\{|["']\s*\+|\$\{).{0,200}(dial|connect)`)
	freed       = regexp.MustCompile(`(?i)"?(permissions?|allow(ed)?(Tools)?|bypass\w*|defaultMode|autoApprove|alwaysAllow|hooks|mcpServers|command|yolo|dangerously\w*|approval\w*|sandbox\w*|trust\w*)"?\s*[:=]`)
	manifests   = regexp.MustCompile(`(^|/)(package\.json|requirements[\w.-]*\.(txt|in)|constraints\.txt|pyproject\.toml|setup\.(py|cfg)|Pipfile|Cargo\.toml|go\.mod|Gemfile|composer\.json|pom\.xml|build\.gradle(\.kts)?|\.npmrc|\.yarnrc(\.yml)?|pip\.conf|\.cargo/config(\.toml)?|\.gitmodules|environment\.ya?ml)$`)
	foreignDeps = regexp.MustCompile(`(?m)"[\w@/.-]+"\s*:\s*"(git\+|git://|git@|github:|https?://[^"]*(\.tgz|\.tar\.gz|/archive/|/tarball))|^\s*(-e\s+)?(git\+|https?://)|\s@\s+(git\+|https?:)|\bgit\s*=\s*["']|\bgit:\s*["']|^\s*source ["']http:|registry\s*=\s*["']?http:|(index-url|extra-index-url|index_url|find-links)\s*[= ]\s*["']?https?://|=>\s*[\w-]+\.[a-z]{2,}/\S+|replace-with\s*=|^\s*url\s*=\s*\S*(\d+\.\d+\.\d+\.\d+|http:)|<url>http:|maven\s*\{\s*url\s*\S*["']http:`)
	ofAgents    = regexp.MustCompile(`(^|/)\.(claude|cursor|codex|gemini|windsurf|aider|continue|cline|roo|kiro|opencode|goose|github/copilot)[\w.-]*/.*\.(json|ya?ml|toml)$|(^|/)\.?mcp\.json$|(^|/)\.aider\.conf\.yml$`)
)

// foreignDep is a dependency at an address of its own; where the project itself lies is
// none.
func foreignDep(text string) string {
	for _, m := range foreignDeps.FindAllString(text, 50) {
		if !itself.MatchString(m) {
			return m
		}
	}
	return ""
}

var itself = regexp.MustCompile(`^"(url|repository|homepage|bugs|type|web|issues|source|documentation|funding|\$schema|email)"`)

// unpacks is code that runs what it decodes.
var unpacks = regexp.MustCompile(`(?s)\b(exec|eval|Function|system)\s*\(.{0,80}?(b64decode|decompress|fromhex|unhexlify|marshal\.loads|atob|fromCharCode|str_rot13|gzinflate|codecs\.decode|base64_decode)\s*\(|(decompress|b64decode)\([^\n]{0,200}\n[^\n]{0,20}\b(exec|eval)\(|\bexec\(\s*\(?_?\w*\)?\(|\bexec\(\(|\[\s*['"]\w{1,8}['"]\s*\+\s*['"]\w{1,8}['"]\s*\]\s*\(|(require|import|exec|eval|system|getattr)\(\s*(\[\s*['"]|['"]\w{1,10}['"]\s*\+\s*['"])|\[(\s*['"]\w{1,9}['"]\s*,){1,9}\s*['"]\w{1,9}['"]\s*\]\.join\(\s*(''|"")\s*\)[^\n]{0,60}\n?[^\n]{0,40}(require|exec|eval|system)\b`)

// imitated: a program that is made is not called like a known one.
func (o *ordinary) imitated(a *act, p string) string {
	dir, name, _ := cutLast(p, "/")
	if dir == p {
		dir, name = "", p
	}
	_, kind := o.kinds[name]
	_, command := o.commands[name]
	if (kind || command) && strings.HasPrefix(a.text, "#!") && !ownScripts.MatchString(dir) {
		return "the program " + quote(p) + " is called like a known one; give it a name of its own"
	}
	return ""
}

var (
	ownScripts    = regexp.MustCompile(`(^|/)(scripts?|\.?ci|tools|hack|dev|testdata|fixtures?|tests?|docker|rootfs)(/|$)`)
	atInstall     = regexp.MustCompile(`(?i)(pre|post)?(install|prepare|publish|pack)\W`)
	configured    = regexp.MustCompile(`\.(ya?ml|toml|json|rego|cfg|conf|ini|key|db|jsonl?)$|(^|/)\.?dure[./]`)
	ownRecipes    = regexp.MustCompile(`(^|/)(Makefile|package\.json|Gemfile|setup\.py|[\w.-]+\.config\.\w+)$`)
	fromElsewhere = regexp.MustCompile(`(?i)\b(curl|wget|nc|ncat|socat|ssh|scp|telnet)\b|https?://\d|/dev/tcp|/tmp/|/dev/shm|base64|child_process|subprocess|os\.system|\b(?-i:exec[A-Z(])|\beval\b|\bspawn|\$\(|` + "`" + `|hooksPath|ext::|filter=|include\.path|insteadOf|&\s*($|\n|\)|")|folderOpen|\bsh -c\b|\bbash -c\b|urllib|requests\.|socket|nohup|setsid`)
)

// checks: a change of what decides about the work takes nothing from it.
func (o *ordinary) checks(a *act, p string) string {
	if !o.places["check"].MatchString(p) {
		return ""
	}
	if m := neutralIn(a.text, p, a.old == ""); m != "" && neutralIn(a.old, p, false) == "" {
		return "with " + quote(strings.TrimSpace(m)) + " the check in " + quote(p) + " says yes more often; a person decides that, ask with ask_human"
	}
	if m := hollowScript.FindStringSubmatch(a.text); m != nil && !decides.MatchString(m[2]) && !ownTest.MatchString(m[2]) {
		return "with " + quote(m[0]) + " the check in " + quote(p) + " checks nothing"
	}
	if m := foreignRuns.FindString(a.text); m != "" && strings.Contains(p, ".github/") {
		return quote(m) + " gives what others send the keys of the repository"
	}
	if checkScript.MatchString(p) && open(a.text) && !slices.Contains(a.through, "sed") && slices.ContainsFunc(a.through, func(t string) bool { return slices.Contains(copies, t) }) {
		return "another file takes the place of the check " + quote(p)
	}
	if a.old != "" {
		for _, w := range decides.FindAllString(a.old, -1) {
			if !strings.Contains(a.text, strings.TrimSpace(w)) {
				return quote(strings.TrimSpace(w)) + " goes out of the check in " + quote(p) + "; a person decides that, ask with ask_human"
			}
		}
		return ""
	}
	if a.program == "empty" || checkScript.MatchString(p) && !strings.Contains(p, ".github/") && !slices.Contains(a.through, "sed") && !open(a.text) && !decides.MatchString(a.text) {
		return "the check in " + quote(p) + " would check nothing"
	}
	return ""
}

var (
	neutral     = regexp.MustCompile(`(?im)\|\|\s*(true|:|exit 0|echo|\$true)|(^|[;&{\s])exit 0\b|\bset \+e\b|trap\s.*(exit 0|true)|continue-on-error|allow_failure|if:\s*(false|\$\{\{\s*false)|if (false|!)|fail-under\S*[= ]+"?[0-5]?\d\b|fail_under\s*=\s*[0-5]?\d\b|passWithNoTests|skip[-_.]?tests?\b|-DskipTests|test\.skip|--exit-zero|--no-verify|ignoreFailures|collect_ignore|--deselect|--ignore[= ]|--collect-only|-run[= ]["']?(\^?\$|XXX|NONE|x{2,})|-k ["']?not |--exclude|-short\b|--bail 0|--max-warnings[= ]\d{2,}|testPathIgnorePatterns|"exclude"|--allow-\w*fail|soft_fail|ignore_errors|\bnolint\b|disable-all|issues-exit-code:?[= ]+0|-?exit-code[= ]0|only:\s*never|when:\s*never|branches-ignore|workflow_dispatch:?\s*$|@-`)
	decides     = regexp.MustCompile(`(?i)\bgo (test|vet|build)\b|\bpytest\b|\bnpm (run )?(test|lint)\b|\byarn (test|lint)\b|\bcargo (test|clippy|check)\b|\bmake \w+\b|\bctest\b|\bjest\b|\bvitest\b|\bmocha\b|\btox\b|\bmvn\b|\bgradle\w*\b|golangci-lint|\bmypy\b|\bruff\b|\beslint\b|\btsc\b|-race\b|-Werror\b|-D warnings|\bset -e\w*|pipefail|\bexit [1-9]|\breturn [1-9]|fail[-_]under\S*|needs:|required|--strict\b|--cov\S*|gofmt|shellcheck|staticcheck|\bdotnet test|\brspec\b|\bphpunit\b|\bmix test|\bprove\b|\bbats\b|-eq 0|-ne 0|-gt 0|\$\?|\bdiff\b|\bcmp\b|assert`)
	foreignRuns = regexp.MustCompile(`pull_request_target|toJSON\(\s*secrets|secrets:\s*inherit|issue_comment:|permissions:\s*write-all`)
	// hollowScript sets the command that checks.
	hollowScript = regexp.MustCompile(`(?im)["'.]?\b(test|check|lint|verify|ci)["']?\s*(?:[:=]|": ")\s*["']?(echo\b[^"'\n]*|true|exit \d|:|printf[^"'\n]*)["']?\s*($|,|\}|\n)`)
	ownTest      = regexp.MustCompile(`Error: no test specified`)
	checkScript  = regexp.MustCompile(`(^|/)(\.ci|ci|\.circleci)/|\.github/workflows/|(^|/)(check|test|run-tests)\.sh$|scripts/(check|test|ci)\S*$`)
)

// weak are words that a check may have from its beginning.
var weak = regexp.MustCompile(`(?i)^--(exclude|ignore|max-w)|workflow_dispatch|branches-ignore|-short|nolint|"exclude"|-k |skip|if (false|!)|only:|when:|disable-all|allow-|^@-`)

// neutralIn is neutral, for lines that check; in scripts of the check, for all.
func neutralIn(text, p string, whole bool) string {
	for line := range strings.Lines(text) {
		m := neutral.FindString(line)
		if strings.HasPrefix(m, "-run") && strings.Contains(line, "-bench") {
			continue // benchmarks alone
		}
		if m != "" && whole && weak.MatchString(m) {
			continue
		}
		if m != "" && (!strings.HasPrefix(m, "||") || checkScript.MatchString(p) || decides.MatchString(line)) {
			return m
		}
	}
	return ""
}

// tested: a change of a test tests at least as much as before.
func (o *ordinary) tested(a *act, p string) string {
	if !o.places["tests"].MatchString(p) || fixture.MatchString(p) || a.loose {
		return ""
	}
	if a.program == "empty" && !strings.Contains(p, "__") {
		return "the test " + quote(p) + " would test nothing"
	}
	before, after := len(asserts.FindAllString(a.old, -1)), len(asserts.FindAllString(a.text, -1))
	hollow := hollowAssert.FindString(a.text)
	switch {
	case a.old != "" && before > after:
		return "fewer things are asserted in " + quote(p) + " than before; say with ask_human why the test is wrong"
	case hollow != "" && !hollowAssert.MatchString(a.old) && (a.old != "" || after <= 2):
		return quote(hollow) + " in " + quote(p) + " asserts nothing"
	case skips.MatchString(a.text) && !skips.MatchString(a.old) && !excused.MatchString(a.text) && (a.old != "" || slices.Contains(a.through, "sed")):
		return "a test in " + quote(p) + " would be skipped; repair what it finds, or say with ask_human why it is wrong"
	case weakened(a.old, a.text) != "":
		return quote(weakened(a.old, a.text)) + " in " + quote(p) + " asserts less than before; say with ask_human why the test is wrong"
	case endsEarly.MatchString(a.text), strings.HasSuffix(p, "conftest.py") && hooked.MatchString(a.text):
		return "the tests in " + quote(p) + " would end before they have tested"
	}
	return ""
}

var (
	hooked       = regexp.MustCompile(`pytest_(runtest|collection|sessionfinish|ignore|pyfunc|exception|terminal|report)\w*|collect_ignore|\.outcome\s*=|exitstatus\s*=`)
	fixture      = regexp.MustCompile(`(^|/)(testdata|fixtures?|__snapshots__|golden)(/|$)|\.(md|txt|json|ya?ml|csv|snap|golden|html|xml)$`)
	asserts      = regexp.MustCompile(`(?i)\bassert\w*|\bexpect\w*\s*\(|\bt\.(fatal|error|fail)\w*|\brequire\.\w+|\bshould\b|\bb\.Fatal|panic!|\bmust\w*\(|\bcheck\w*\(|\.to(Be|Equal|Throw|Have)\w*|\bverify\w*\(|\braises\b|\bthrows\b|XCTAssert\w*|ASSERT_\w+|EXPECT_\w+`)
	hollowAssert = regexp.MustCompile(`(?i)\bassert\w*[\s(]+true\b\)?\s*($|\n|;|#)|expect\((true|1)\)|assertTrue\(true\)|\bassert 1\b|assert_eq!\(1, 1\)|assert!\(true\)|XCTAssert\(true\)`)
	skips        = regexp.MustCompile(`t\.Skip|@pytest\.mark\.(skip|xfail)|@unittest\.(skip|expectedFailure)|\b(it|test|describe|context|suite)\.(skip|todo|only)|\bx(it|describe|test)\b|\bf(it|describe)\b|#\[ignore|@Ignore|@Disabled|pytest\.(skip|xfail|importorskip)|self\.skipTest|\bpending\b|\bskip:\s|test\.failing|SkipNow`)
	excused      = regexp.MustCompile(`testing\.Short\(\)|sys\.platform|os\.name|runtime\.GOOS|skipif|skipIf|skipUnless|LookPath|shutil\.which|Getenv|environ|platform|importorskip|process\.(platform|env)`)
	endsEarly    = regexp.MustCompile(`TestMain\([^)]*\)\s*\{[^}]*os\.Exit\(\s*0\s*\)|os\._exit\(0\)|\bsys\.exit\(0\)|process\.exit\((0)?\)|pytest\.exit\(|(global|globalThis|window)\.(expect|it|test|describe|assert)\s*=|\bbuiltins\.\w+\s*=|unittest\.TestCase\.\w+\s*=`)
)

// readByAgents: what agents are told by the repository gives them no orders that only a
// person gives.
func (o *ordinary) readByAgents(a *act, p string) string {
	if o.places["orders"].MatchString(p) {
		return ordered(a.text, everyone)
	}
	if fixture.MatchString(p) && strings.Contains(p, "test") || o.places["tests"].MatchString(p) || aboutAttacks.MatchString(p) {
		return ""
	}
	return ordered(a.text, models)
}

// aboutAttacks are files whose subject is attacks.
var aboutAttacks = regexp.MustCompile(`(?i)inject|attack|jailbreak|security|threat|redteam|prompt|judge|guard|moderation|sanitiz`)
