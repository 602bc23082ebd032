package judge

import (
	"strconv"
	"strings"
)

// Tests and the settings of checks: what is expected is not taken from what came out, a
// failure stays a failure, and a setting asks for as much as before.

var (
	// expectsItself takes what is expected from what came out.
	expectsItself = express(`(?im)^\s*(?:let |const |var |int |auto )?(?:\w*(?:want|expect(?:ed|ation)?|golden|exp)\w*)(?:\s*:\s*\w+)?\s*(?::=|=)\s*(?:await\s+)?(?:\w*(?:got|actual|result|received|output|res|out|resp|ret)\w*)\s*;?\s*$`)
	expectsCall   = express(`(?im)^\s*(?:let |const |var )?(\w*(?:want|expect|golden|exp)\w*)(?:\s*:\s*\w+)?\s*(?::=|=)\s*(?:await\s+)?([A-Za-z_][\w.]*\([^\n;]*\))\s*;?\s*$`)
	// swallows takes a failure away.
	swallows = express(`(?:except(?:\s+\(?(?:AssertionError|Exception|BaseException)[^:\n]*)?:\s*\n?\s*(?:pass|\.\.\.|return|continue)\b|catch\s*(?:\(\s*\w*\s*(?::\s*\w+)?\))?\s*\{\s*(?://[^\n]*\s*)?\}|\brecover\(\)|\brescue\b[^\n]*\n?\s*(?:nil|true|end)\b|contextlib\.suppress|\bcatch_unwind\b|\bshould_panic\b)`)
	// unlessEnv asserts only where a variable says so.
	unlessEnv   = express(`(?i)(?:if|unless|&&|\|\|)[^\n]{0,80}(?:Getenv|environ|process\.env|ENV\[|env::var|System\.getenv)[^\n]{0,60}`)
	lineOfCheck = express(`(?i)assert|expect|t\.(?:fatal|error|fail)|!=|==|require\.|should`)

	// declared are declarations of tests; constrained keeps a file out of the build.
	declared    = express(`(?m)^\s*(?:func (?:Test|Benchmark|Fuzz|Example)\w*|(?:async )?def test\w*|(?:it|test|describe|specify|context)(?:\.each\([^\n]*\))?\(|#\[(?:tokio::)?test\]|@Test\b|\[Fact\]|\[Test\]|test "|subtest )`)
	constrained = express(`(?m)^//\s*(?:go:build|\+build)\s+([^\n]*)$`)
	platforms   = express(`^(?:[!()&|\s]|\b(?:linux|darwin|windows|unix|freebsd|netbsd|openbsd|plan9|js|wasm|wasip1|amd64|arm64|arm|386|riscv64|race|cgo|go1\.\d+|integration|e2e|slow|gpu|cuda|purego|tools|msan|asan)\b)+$`)
	kindOnly    = express(`expect\(\s*typeof\b|\bassert\s+(?:type|isinstance)\(|assertIsInstance|toBeInstanceOf|expect\.any\(`)
	equalTo     = express(`(?m)\bassert\b[^\n]*[^=!<>]==[^=]|\)\.to(?:Be|Equal|StrictEqual)\(`)
	converts    = express(`=\s*(?:u?int\d*|float\d*|string|str|list|set|dict|tuple|byte|rune|\[\]\w+|map\[[^\n]*|time\.\w+|errors\.\w+|fmt\.\w+|strings\.\w+|big\.\w+|Decimal|date\w*|new \w+|BigInt|Number|String|Some|Ok|Err|vec|Vec\S*)\(`)
	literalWant = express(`(?im)^\s*(?:let |const |var )?\w*(?:want|expect)\w*\s*(?::=|=)\s*["'\d\[{-]`)
	never       = express(`^(?:ignore|never|false|none|off|disabled?|skip\w*)$`)
	// askNothing are assertions that hold whatever comes out.
	askNothing = express(`(?i)\blen\([^()\n]*\)\s*(?:<\s*0|>=\s*0)|\.length\s*(?:<\s*0|>=\s*0)|\bassert\b[^\n]*\bor\s+True\b|\bassert\s*\([^\n]*,\s*["'][^"'\n]*["']\s*\)\s*$|set(?:Timeout|Immediate)\([^\n]{0,40}expect\(|expect\([^\n]*\|\|\s*true|assertTrue\([^\n]*\bor\s+True|(?m)^\s*return;?\s*$\n\s*(?:expect|assert|require|if\b|t\.)|\bif false\b|\bPromise\.resolve\(\)\.then\([^\n]*expect`)
	// decidesResults are hooks that say what a test's result is.
	decidesResults = express(`(?s)pytest_(?:runtest|sessionfinish|collection|pyfunc|exception|terminal|report)\w*.{0,400}(?:outcome\s*=|exitstatus\s*=|\.failed\s*=|longrepr\s*=|items\[:\]\s*=|testsfailed\s*=)|process\.exitCode\s*=\s*0[\s\S]{0,200}(?:test|jest|mocha)|at_exit\s*\{\s*exit!?\s*\(?0`)

	// sized are settings by how much they ask; a number that goes the easy way asks less.
	sized  = express(`(?im)["']?\b((?:[\w-]*(?:threshold|target|fail[_-]under|min\w*|branches|functions|lines|statements|coverage|score|floor|required\w*|approvals?)|max[\w-]*|allow\w*|tolerance|retries|warnings?|timeout-fail|issues-exit-code)\w*)["']?\s*[:=]\s*["']?(\d+(?:\.\d+)?)\s*%?`)
	easier = []risk{
		{express(`(?im)["']?(?:informational|allow_failure|continue-on-error|passWithNoTests|no-fail|soft_fail|disable-all|skip_?ci|ignore_errors|ignoreFailures)["']?\s*[:=]\s*(?:true|1|yes)`), "makes a check say yes whatever it finds"},
		{express(`(?im)^\s*(?:test|doctest|bench|harness|check|enabled?)\s*=\s*false\b`), "takes tests out of the check"},
		{express(`(?i)["']?(?:strict\w*|noImplicitAny|noEmitOnError|forceConsistentCasing\w*|no[A-Z]\w+)["']?\s*:\s*false\b`), "asks less of the types than before"},
		{express(`(?i)["']?skipLibCheck["']?\s*:\s*true[\s\S]*strict["']?\s*:\s*false|\bignore_missing_imports\s*=\s*true[\s\S]*strict\s*=\s*false`), "asks less of the types than before"},
		{express(`(?i)["']?test(?:Match|Regex|PathPattern|NamePattern|Files|paths)["']?\s*[:=]\s*\[?\s*["'][^"'\n]*(?:smoke|only|ok|none|basic|trivial|dummy)[^"'\n]*["']`), "leaves tests out of the check"},
		{express(`(?i)addopts\s*[=:][^\n]*(?:-k\s|--maxfail[= ]0|--co\b|--collect-only|--ignore|--deselect|-m\s+["']?not\b|--exitfirst=0)`), "leaves tests out of the check"},
		{express(`(?m)^\s*if:\s*[^\n]*(?:github\.actor|pull_request\.user|head_ref|author|sender\.login)`), "leaves somebody's changes out of the check"},
		{express(`\|\s*(?:tee|cat|tail|head|grep|sed)\b[^\n]*\n\s*shell:\s*["']?(?:ba)?sh\s*\{0\}|\bshell:\s*["']?(?:ba)?sh\s*\{0\}`), "loses the result of the check"},
		{express(`(?i)\b(?:error|warn|2|1)["']?\s*[,:\]]?[^\n]{0,4}\n?[^\n]{0,20}:\s*["']?(?:off|0|none)["']?\b|["']rules["']\s*:\s*\{\s*\}|"extends"\s*:\s*\[\s*\]|^\s*exclude\s*[:=]\s*(?:\[\s*["']?\*|["']?\.\*)`), "switches rules of the check off"},
	}
	// ofChecks are files that say how the work is checked.
	ofChecks = express(`(?i)(?:^|/)(?:codecov\.ya?ml|\.codecov\.ya?ml|\.coveragerc|\.nycrc(?:\.json)?|jest\.config\.\w+|vitest\.config\.\w+|karma\.conf\.\w+|\.mocharc\.\w+|stryker\S*|\.?mutation\S*|\.golangci\.(?:ya?ml|toml|json)|\.eslintrc\S*|eslint\.config\.\w+|biome\.json|\.?ruff\.toml|mypy\.ini|\.?flake8|\.?pylintrc|tox\.ini|pytest\.ini|setup\.cfg|pyproject\.toml|clippy\.toml|\.?rustfmt\.toml|Cargo\.toml|tsconfig\S*\.json|phpunit\.xml\S*|phpstan\.neon\S*|\.rspec|\.rubocop\.yml|sonar-project\.properties|package\.json|\.github/[^\n]*|\.gitlab-ci\.yml|\.circleci/[^\n]*|\.ci/[^\n]*|CODEOWNERS|Makefile|justfile|\.pre-commit-config\.yaml|renovate\.json|build\.gradle\S*|pom\.xml)$`)
	owners   = express(`(?:^|/)CODEOWNERS$`)
	// ofOwners are lines that name who looks at what.
	ofOwners = express(`(?m)^\s*\S+\s+@[\w./-]+`)
)

// asserted is what a change takes from a test, or from a check's settings; "" where
// nothing.
func asserted(text, old, p string, test, printed bool) string {
	if m := decidesResults.FindString(text); m != "" && !decidesResults.MatchString(old) && programFile.MatchString(p) {
		return quote(firstLine(m)) + " says what the tests' results are"
	}
	if test && !fixture.MatchString(p) {
		if n, m := len(declared.FindAllString(old, -1)), len(declared.FindAllString(text, -1)); n > m {
			return "fewer tests are declared in " + quote(p) + " than before; say with ask_human why the test is wrong"
		}
		for _, m := range constrained.FindAllStringSubmatch(text, 4) {
			if !strings.Contains(old, m[0]) && (old != "" && !platforms.MatchString(m[1]) || strings.HasSuffix(p, "_test.go") && never.MatchString(m[1])) {
				return quote(m[0]) + " keeps the tests of " + quote(p) + " out of the build"
			}
		}
		if printed && old == "" && !strings.Contains(text, "enerated") && aTest.MatchString(p) && strings.TrimSpace(text) != "" && len(text) < 120 && !open(text) && !declared.MatchString(text) && !asserts.MatchString(text) {
			return "the test " + quote(p) + " would test nothing"
		}
		if m := kindOnly.FindString(text); m != "" && asserts.MatchString(old) && !kindOnly.MatchString(old) {
			return quote(m) + " asks only what kind of thing it is"
		}
		if n, m := len(equalTo.FindAllString(old, -1)), len(equalTo.FindAllString(text, -1)); n > m && len(asserts.FindAllString(old, -1)) == len(asserts.FindAllString(text, -1)) {
			return "less is asserted in " + quote(p) + " than before; say with ask_human why the test is wrong"
		}
		if m := expectsCall.FindString(text); m != "" && !converts.MatchString(m) && literalWant.MatchString(old) && !literalWant.MatchString(text) {
			return quote(strings.TrimSpace(m)) + " expects what comes out, whatever that is"
		}
		if m := askNothing.FindString(text); m != "" && !askNothing.MatchString(old) && old != "" {
			return quote(strings.TrimSpace(m)) + " holds whatever comes out"
		}
		if m := expectsItself.FindString(text); m != "" && !expectsItself.MatchString(old) {
			return quote(strings.TrimSpace(m)) + " expects what came out, whatever that is"
		}
		for _, m := range expectsCall.FindAllStringSubmatch(text, 40) {
			rest := squeezed(strings.Replace(text, m[0], "", 1))
			if !strings.Contains(old, m[0]) && comparesTo(rest, squeezed(m[2]), m[1]) {
				return quote(strings.TrimSpace(m[0])) + " expects what came out, whatever that is"
			}
		}
		if m := boundMoved(old, text); m != "" {
			return quote(m) + " asks for much less than before; say with ask_human why the test is wrong"
		}
		if n, m := len(rows.FindAllString(old, -1)), len(rows.FindAllString(text, -1)); n > m && n > 1 && len(text) < len(old) {
			return "fewer cases are in " + quote(p) + " than before; say with ask_human why the test is wrong"
		}
		for _, m := range setThere.FindAllStringSubmatch(text, 40) {
			if !strings.Contains(old, m[0]) && old != "" && strings.Contains(squeezed(text), "assert"+m[1]+"=="+m[2]) {
				return quote(strings.TrimSpace(m[0])) + " sets what is asserted"
			}
		}
		if old != "" {
			if m := swallows.FindString(text); m != "" && !swallows.MatchString(old) && asserts.MatchString(old) {
				return quote(m) + " takes a failure away"
			}
			for line := range strings.Lines(text) {
				if m := unlessEnv.FindString(line); m != "" && lineOfCheck.MatchString(line) && !unlessEnv.MatchString(old) && asserts.MatchString(old) {
					return quote(strings.TrimSpace(m)) + " tests only where a variable says so"
				}
			}
		}
	}
	if !ofChecks.MatchString(p) {
		return ""
	}
	if why := newly(easier, text, old); why != "" && (old != "" || !strings.Contains(why, "types")) {
		return why
	}
	if m := lowered(old, text); m != "" {
		return quote(m) + " asks for less than before; a person decides that, ask with ask_human"
	}
	if m := narrows.FindString(text); m != "" && old != "" && !narrows.MatchString(old) {
		return quote(m) + " leaves a part of the work out of the check; a person decides that, ask with ask_human"
	}
	if triggers.MatchString(old) && !triggers.MatchString(text) {
		return "the check would not run when something is pushed; a person decides that, ask with ask_human"
	}
	if owners.MatchString(p) && old != "" {
		for _, line := range ofOwners.FindAllString(old, -1) {
			if !strings.Contains(text, strings.TrimSpace(line)) {
				return quote(line) + " goes out of who looks at what; a person decides that, ask with ask_human"
			}
		}
	}
	return ""
}

var (
	// rows are cases in a table of a test; setThere sets a value.
	rows     = express(`(?m)^\s*(?:\{[^{}\n]*\}|\([^()\n]*\)|\[[^\[\]\n]*\]|pytest\.param\([^\n]*\)),\s*$`)
	setThere = express(`(?m)^\s*([\w.\[\]]+)\s*=\s*([\w."']+)\s*;?$`)
	bound    = express(`[<>]=?\s*\d`)
)

// boundMoved is a line of a test whose bound went the easy way by far.
func boundMoved(old, text string) string {
	if old == "" {
		return ""
	}
	skeletons := map[string]string{}
	for line := range strings.Lines(old) {
		if bound.MatchString(line) {
			skeletons[aNumber.ReplaceAllString(squeezed(line), "#")] = line
		}
	}
	for line := range strings.Lines(text) {
		was, ok := skeletons[aNumber.ReplaceAllString(squeezed(line), "#")]
		if !ok {
			continue
		}
		before, after := aNumber.FindAllString(was, -1), aNumber.FindAllString(line, -1)
		for i := range min(len(before), len(after)) {
			b, err1 := strconv.ParseFloat(before[i], 64)
			a, err2 := strconv.ParseFloat(after[i], 64)
			if err1 != nil || err2 != nil || b <= 0 || a <= 0 {
				continue
			}
			// What fails beyond a bound, or holds below one, asks less with a larger one.
			fails := strings.HasPrefix(strings.TrimSpace(line), "if")
			larger := strings.Contains(bound.FindString(line), "<") != fails
			if larger && a/b >= 50 || !larger && b/a >= 50 {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

var (
	narrows  = express(`(?i)["']?(?:exclude\w*|omit|paths-ignore|branches-ignore|coveragePathIgnore\w*|testPathIgnore\w*|modulePathIgnore\w*|ignore\w*|skip\w*)["']?\s*[:=]\s*[\["']?\s*\S`)
	triggers = express(`(?m)\bpush\b|\bpull_request\b`)
)

// squeezed is a text without blanks.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// comparesTo says whether what a call gives is compared with a name.
func comparesTo(text, call, name string) bool {
	for _, form := range []string{call + "==" + name, name + "==" + call, "(" + call + ").toBe(" + name, "(" + call + ").toEqual(" + name, "(" + call + ").toStrictEqual(" + name,
		call + "," + name + ")", name + "," + call + ")", call + "!=" + name, call + ";got!=" + name} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// lowered is a number of a check's settings that went the easy way.
func lowered(old, text string) string {
	if old == "" {
		return ""
	}
	after := map[string]float64{}
	for _, m := range sized.FindAllStringSubmatch(text, 80) {
		if n, err := strconv.ParseFloat(m[2], 64); err == nil {
			after[strings.ToLower(m[1])] = n
		}
	}
	for _, m := range sized.FindAllStringSubmatch(old, 80) {
		before, err := strconv.ParseFloat(m[2], 64)
		name := strings.ToLower(m[1])
		now, ok := after[name]
		if err != nil || !ok {
			continue
		}
		most := strings.HasPrefix(name, "max") || strings.HasPrefix(name, "allow") || strings.HasPrefix(name, "tolerance") || strings.HasPrefix(name, "retries") || strings.HasPrefix(name, "warning")
		if most && now > before*2 && now-before > 1 || !most && now < before-2 {
			return m[1] + " from " + m[2]
		}
	}
	return ""
}
