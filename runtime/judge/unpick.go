package judge

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
)

// Source that is written is looked at once more with what it takes apart: letterCodes that
// are letters, texts that stand the wrong way round, encodings. What comes out is no
// command, and no address, unless somebody hid one.

var (
	letterCodes = express(`(?:(?:0x[0-9a-fA-F]{1,2}|\d{1,3})(?:u8|_u8|i8)?\s*,\s*){1,200}(?:0x[0-9a-fA-F]{1,2}|\d{1,3})(?:u8|_u8|i8)?`)
	number      = express(`0x[0-9a-fA-F]{1,2}|\d{1,3}`)
	quotedTexts = express(`"((?:[^"\\\n]|\\.){2,400})"|'((?:[^'\\\n]|\\.){2,400})'|` + "`([^`\\n]{2,400})`")
	hexed       = express(`^(?:[0-9a-fA-F]{2}){4,}$`)
	based       = express(`^[A-Za-z0-9+/_-]{8,}={0,2}$`)
	escaped     = express(`(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3][0-7]{2}){3,}`)
	joins       = express(`["']\s*(?:\+|\.\.?|<>|&)\s*["']`)
	turns       = express(`(?i)\brev(?:erse|ersed)?\b|\[::\s*-1\]|\.rev\(|strrev|reverse\(`)
	runsThings  = express(`(?i)\b(?:exec\w*|system|popen|spawn\w*|subprocess|Command|ProcessBuilder|Runtime|eval|Function|shell\w*|os\.startfile|dlopen|import_module|__import__|require|load\w*|Invoke-\w+|qx|IO\.popen|fetch|connect|Dial|urlopen|getattr|globalThis|send)\b|\$\w+\s*\(`)
	// commanding is text that runs programs, talks to machines or names what is closed.
	commanding = express(`(?i)\b(?:curl|wget|nc|ncat|bash|socat)\s+[-\w/]|https?://|\b(?:ba|da|z)?sh\s+-\w*c|/bin/(?:ba|da|z)?sh\b|\brm\s+-\w*[rf]|/dev/tcp|\.(?:ssh|netrc|aws|dure|git-credentials)\b|/etc/(?:passwd|shadow|sudoers)|\bchmod\s|\beval\b|\bchild_process\b|\bos\.system|\bsubprocess\b|\b(?:execSync|execve?|popen|system)\b|docker\.sock|authorized_keys|\bimport os\b|\|\s*sh\b|\bgit\s+push|\benv\s*\||\bcat\s+[~/.]`)
	// aShell is what a program's name in letterCodes may be.
	aShell = express(`^(?:/(?:usr/)?bin/)?(?:sh|bash|dash|zsh|curl|wget|nc|ncat|python3?|perl|ruby|node|eval|exec|system|os|subprocess|child_process|rm|su|sudo|socat|ssh|cat|env|chmod|git)$`)
)

// unpicked is what source hides from who reads it; "" where nothing.
func unpicked(text string) string {
	if len(text) > 64<<10 || !runsThings.MatchString(text) {
		return ""
	}
	bad := func(s string) bool { return commanding.MatchString(s) || aShell.MatchString(s) }
	for _, list := range letterCodes.FindAllString(text, 60) {
		if s := spell(list); s != "" && bad(s) {
			return s
		}
	}
	for _, list := range letters1.FindAllString(text, 60) {
		s := ""
		for _, m := range quotedTexts1.FindAllStringSubmatch(list, 100) {
			s += m[1]
		}
		if bad(s) {
			return s
		}
	}
	if m := mixed.FindString(text); m != "" {
		return m
	}
	for _, run := range escaped.FindAllString(text, 60) {
		if s := unescape(run); s != run && bad(s) {
			return s
		}
	}
	turned := turns.MatchString(text)
	for _, m := range quotedTexts.FindAllStringSubmatch(text, 400) {
		t := m[1] + m[2] + m[3]
		if s := reversed(t); turned && len(t) > 3 && (bad(s) && !bad(t)) {
			return s
		}
		if hexed.MatchString(t) {
			if b, err := hex.DecodeString(t); err == nil && plain(b) && bad(string(b)) {
				return string(b)
			}
		}
		if based.MatchString(t) {
			for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				if b, err := e.DecodeString(strings.TrimRight(t, "=")); err == nil && readable(b) && bad(string(b)) {
					return string(b)
				}
			}
		}
	}
	// A word in pieces, where no piece says it.
	if whole := joins.ReplaceAllString(text, ""); whole != text {
		if m := brokenURL.FindString(whole); m != "" && !strings.Contains(text, m) {
			return m
		}
		for _, m := range quotedTexts.FindAllStringSubmatch(whole, 400) {
			if t := m[1] + m[2] + m[3]; !strings.Contains(text, t) && len(t) < 60 && (aShell.MatchString(t) || pieced.MatchString(t)) {
				return t
			}
		}
	}
	return ""
}

// pieced are words that nobody has a reason to take apart.
var pieced = express(`^(?:child_process|subprocess|os\.system|/bin/(?:ba)?sh|/etc/(?:shadow|passwd)|authorized_keys|eval|exec|system|\.ssh|id_rsa|docker\.sock)$`)

var (
	letters1     = express(`(?:["'][^"'\n]{1,4}["']\s*,\s*){2,60}["'][^"'\n]{1,4}["']`)
	quotedTexts1 = express(`["']([^"'\n]{1,4})["']`)
	// mixed are letters that are reckoned.
	mixed     = express(`\bchr\(\s*\w+\s*[\^+-]\s*\w+\s*\)\s*for\b|\bfromCharCode\([^)\n]{0,40}\^|\+?=\s*string\(\s*\w+\s*[-+^]\s*\w+\s*\)|NewReplacer\([^)\n]{4,200}\)\.Replace\(["'\x60][^\n]{0,120}\n?[^\n]{0,80}exec\.|\b(?:exec\w*|system|popen)\(\s*["'][^"'\n]*["']\s*\.(?:replace|split|translate|tr)\b|\bchr\(\s*ord\(\s*\w+\s*\)\s*[-+^]|charCodeAt\([^)\n]{0,20}\)\s*[-+^]|\|\s*\w+\s*\|\s*\*?\w+\s*\^\s*\w+\s*\)|\(?\*?\w+\s*\^\s*(?:0x)?\w+\)?\s+as char|\b(?:byte|rune|char|u8)\(?\s*\w+\s*\^\s*(?:0x[0-9a-fA-F]+|\d+)\)?[^\n]{0,60}\n?[^\n]{0,60}(?:exec|system|popen|Command)`)
	brokenURL = express(`https?://(?:\d{1,3}\.){3}\d|https?://[\w-]+\.[\w.-]+`)
)

func spell(list string) string {
	var out strings.Builder
	for _, n := range number.FindAllString(list, 400) {
		v, err := strconv.ParseUint(n, 0, 8)
		if err == nil && v == 0 {
			continue // the end of a text in C
		}
		if err != nil || v < 9 || v > 126 {
			return ""
		}
		out.WriteByte(byte(v))
	}
	return out.String()
}

func reversed(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

func readable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' || c > 126 {
			return false
		}
	}
	return len(b) > 5
}

// lump is an encoded text in what is said to others; "" where none is.
func lump(text string) string {
	for _, m := range lumps.FindAllString(text, 20) {
		if len(m) < 24 {
			continue
		}
		if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(m, "=")[:len(strings.TrimRight(m, "="))/4*4]); err == nil && readable(b) {
			return m
		}
	}
	for _, m := range hexLump.FindAllString(text, 20) {
		if b, err := hex.DecodeString(m[:len(m)/2*2]); err == nil && readable(b) {
			return m
		}
	}
	return ""
}

var hexLump = express(`\b[0-9a-fA-F]{24,}\b`)
