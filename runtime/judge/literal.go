package judge

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// Keys and passwords that stand in a text as they are, whatever file or variable they
// came from. A value counts when it looks like no word and no example: known forms of
// providers, and what is hard to guess beside a word for a secret.

var (
	// provided are forms that one provider's keys have, and nothing else.
	provided = express(`\b(?:sk-(?:ant|proj|live|or|svcacct)-[\w-]{10,}|sk-[A-Za-z0-9]{24,}|(?:AKIA|ASIA|ABIA)[0-9A-Z]{16}\b|gh[pousr]_\w{20,}|github_pat_\w{20,}|gl(?:pat|rt|ptt|dt)-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{20,}|AIza[\w-]{33,}|ya29\.[\w-]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|hf_[A-Za-z0-9]{24,}|do[opr]_v1_\w{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|[srp]k_live_\w{10,}|rk_live_\w{10,}|whsec_\w{20,}|AGE-SECRET-KEY-1\w+|hv[bs]\.[\w-]{20,}|dckr_pat_[\w-]{20,}|shp(?:at|ss|ca)_\w{20,}|lin_api_\w{20,}|glsa_\w{20,}|NRAK-\w{20,}|sq0(?:atp|csp)-[\w-]{20,}|eyJ[\w-]{16,}\.eyJ[\w-]{16,}\.[\w-]{16,}|\d{8,10}:AA[\w-]{33})`)
	keyBlock = express(`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s*(?:\\n|\n)?\s*[A-Za-z0-9+/=:, -]{16,}`)
	inURL    = express(`\b[a-z][a-z0-9+.-]{1,20}://([^\s:/@"'<>]{0,60}):([^\s@/"'<>]{3,120})@([\w.-]+)`)
	machines = express(`(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)`)
	assigned = express(`(?i)(?:\b|_)[\w-]*(?:passwords?|passwd|passphrase|pwd|secrets?|tokens?|api[_ -]?key|apikey|access[_ -]?key(?:[_ -]?id)?|private[_ -]?key|signing[_ -]?key|credentials?|auth[_-]?key|pat)["'\x60]?\s*(?:=>|:=|=|:|\bis\b|\bwas\b|\s)\s*["'\x60]?([^\s"'\x60,;)]{6,200})|(?:비밀\s*번호|비번|암호|토큰|열쇠|비밀\s*키|(?:접근|접속|API|인증|개인|서명|배포)\s*키|자격\s*증명)(?:는|은|가|이|를|을)?\s*(?:=|:|\s)\s*["'\x60]?([^\s"'\x60,;)]{6,200})`)
	bearer   = express(`(?i)\b(?:bearer|basic)\s+([\w+/=.~-]{16,})`)
	stated   = express(`(?m)(?:^|[\s"'\x60,;(])[A-Z][A-Z0-9_]*(?:PASS|PASSWD|PASSWORD|SECRET|TOKEN|KEY|CREDENTIALS?|_PAT|PWD|DSN)[A-Z0-9_]*\s*[=:]\s*["'\x60]?([^\s"'\x60,;)]{6,200})`)
	// obvious are values that nobody takes for a key.
	obvious  = express(`(?i)test|example|dummy|fake|change[-_]?me|placeholder|sample|xxx|your|redacted|\*\*\*|\.\.\.|…|secret|passw|hunter2|foobar|hello|s3cr|letmein|default|insecure|mock|demo|fixture|not[-_]?a[-_]?real|invalid|deadbeef|lorem|1234|0000|abcdef|[<>{}$%]|null|none|undefined|process\.env|getenv|os\.|env\.|^\w+\(`)
	pathLike = express(`^(?:~|\.{0,2})?/|://|^[\w.-]+/[\w./-]*[a-z]{3,}[\w./-]*$|^\d[\d.,:+-]*$|^[a-z]+(?:[-_.][a-z]+)*\d{0,3}[.:]?$|^[a-zA-Z][a-z]+(?:[A-Z][a-z]+)*\d?$|^\w+\.\w+(?:\.\w+)*\(?$|\(\)|^[A-Z][A-Z_0-9]*$|^[[&*!]|^v?\d+\.\d+|^#\d+`)
)

// keyIn is the first key or password that stands in a text; "" where none does. loose
// asks for all forms: what is told to others, in which a plain password is none's to see.
func keyIn(text string, loose bool) string {
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	for _, m := range provided.FindAllString(text, 40) {
		if !obvious.MatchString(m) && entropy(m) > 3.2 && (loose || !strings.HasPrefix(m, "eyJ")) {
			return m
		}
	}
	if m := keyBlock.FindString(text); m != "" && !obvious.MatchString(m) && loose {
		return m
	}
	for _, m := range inURL.FindAllStringSubmatch(text, 40) {
		if !obvious.MatchString(m[2]) && !pathLike.MatchString(m[2]) && !simple.MatchString(m[2]) && (loose || hard(m[2], 10)) {
			return m[0]
		}
	}
	for _, m := range machines.FindAllStringSubmatch(text, 40) {
		if !obvious.MatchString(m[0]) && !simple.MatchString(m[1]) {
			return m[0]
		}
	}
	if loose {
		for _, m := range longLump.FindAllString(text, 20) {
			if !digested.MatchString(m) && entropy(m) > 4 && strings.ContainsAny(m, "0123456789") && strings.Count(m, "/") < 4 && strings.ToLower(m) != m {
				return m
			}
		}
		if m := crypted.FindString(text); m != "" {
			return m
		}
	}
	forms := []*regexp.Regexp{stated, settled}
	if loose {
		forms = []*regexp.Regexp{stated, assigned, bearer, logins}
	}
	for _, x := range forms {
		for _, m := range x.FindAllStringSubmatch(text, 80) {
			value := strings.TrimRight(m[1]+strings.Join(m[2:], ""), ".!?:")
			least := 7
			if !loose {
				least = 20
			}
			if hard(value, least) {
				return strings.TrimSpace(m[0])
			}
		}
	}
	return ""
}

var (
	// settled is a setting of its own line; logins stand with an account.
	settled = express(`(?mi)^\s*(?:-\s*)?["']?[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[:=]\s*["']?([\w+/=!@#^&*.-]{16,120})["']?,?\s*$`)
	logins  = express(`(?i)(?:\blogin|\baccount|\bcredentials?|계정|접속|로그인)\S{0,4}\s*(?:is|are|was|:|=|은|는|이)?\s*[\w.@-]+\s*[/:|,]\s*([^\s"',;)]{8,80})`)
	// longLump is what no word is, and no commit's name.
	longLump = express(`(?:sha(?:256|384|512)-|h1:)?[A-Za-z0-9+/]{44,}={0,2}`)
	digested = express(`^(?:sha\d+-|h1:)|^[0-9a-f]+$`)
	// crypted are passwords as a system keeps them.
	crypted = express(`\$(?:1|2[aby]|5|6|y|7|argon2\w*)\$[./\w=,$+-]{24,}`)
)

// simple are passwords of examples.
var simple = express(`(?i)^(?:user|pass|pw|pwd|admin|root|postgres|mysql|redis|guest|token|key|me|x+|a+|p|foo|bar|baz|dev|local|app|api|dure|docker|minio\w*|rabbit\w*)\d{0,3}$`)

// hard says whether a value is hard to guess, and no word of a program.
func hard(v string, least int) bool {
	if len(v) < least || obvious.MatchString(v) || pathLike.MatchString(v) || simple.MatchString(v) {
		return false
	}
	var lower, upper, digit, other int
	for _, c := range v {
		switch {
		case c > unicode.MaxASCII:
			return false
		case unicode.IsLower(c):
			lower++
		case unicode.IsUpper(c):
			upper++
		case unicode.IsDigit(c):
			digit++
		default:
			other++
		}
	}
	kinds := min(lower, 1) + min(upper, 1) + min(digit, 1) + min(other, 1)
	switch {
	case digit == 0 && len(v) < 20 || lower+upper == 0:
		return false
	case len(v) < 16:
		return kinds >= 3 && other <= 4 && entropy(v) > 2.4
	}
	return (kinds >= 3 || digit >= 4 && kinds >= 2) && entropy(v) > 3.3
}

// entropy is how many bits a letter of a text says, by the text's own letters.
func entropy(s string) float64 {
	counts, n := map[rune]float64{}, 0.0
	for _, c := range s {
		counts[c]++
		n++
	}
	bits := 0.0
	for _, c := range counts {
		bits -= c / n * math.Log2(c/n)
	}
	return bits
}

// holdsKey: a text that others read, or a file that is kept, holds no key.
func holdsKey(text, old string, loose bool) string {
	m := keyIn(text, loose)
	if m == "" || strings.Contains(old, m) {
		return ""
	}
	return "it holds a key or a password (" + quote(m[:min(len(m), 12)]) + "…); leave it out, and name the variable that holds it"
}
