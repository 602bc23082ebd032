package judge

import (
	"slices"
	"strings"
)

// What a written program runs stands there, as it is. Code that it decodes, turns round or
// puts together, and a program whose name is an element of a list, is nothing that who
// reads the file can see.

var (
	// runsText runs text as code, or in a shell.
	runsText = express(`\bexec\(\s*[^"'\s)]|\beval\(\s*[^"'\s)]|\beval\s+\$|\bnew\s+Function\b|\bFunction\(\s*["'\w]|\bcreate_function\b|\b(?:class|instance|module)_eval\b|\bbinding\.eval|runIn(?:This|New)Context|\.constructor\)?\s*\(|\bfn\(\s*\w+\.toString|\bcompile\([^)\n]{0,80}["']exec["']|\bloadstring\b|\bload\(\s*\w+\s*[,)]|getattr\(\s*_?\w*builtins?|(?:globalThis|global|window|self)(?: as \w+)?\[|__import__\(\s*[^"'\s)]|require\(\s*[a-z]\w*\s*\)|\.import_module\(\s*[^"'\s)]|defineClass\(|ScriptEngine|Assembly\.Load\w*\(|\.Invoke\(\s*null|exec\.Command\(\s*"(?:/bin/)?(?:ba)?sh"\s*\)|exec\.Command(?:Context)?\(\s*(?:ctx,\s*)?(?:"(?:/bin/)?(?:ba)?sh",\s*"-c",\s*[^"\s\x60]|string\()|Command::new\(\s*"(?:/bin/)?(?:ba)?sh"\s*\)(?:\s*\.arg\("-c"\))\s*\.arg\(\s*[&\w]|getRuntime\(\)\.exec\(|ProcessBuilder\(|\b(?:os\.system|popen|system|execSync|child_process\.exec|shell_exec|passthru)\(\s*[^"'\x60\s)]|shell\s*=\s*True|Start-Process|\biex\b|Invoke-Expression|Process\.Start\(|\b\w+\s*=\s*Object\.getPrototypeOf\(async`)
	// makesText makes text of what nobody reads.
	makesText = express(`b64decode|\bb?32decode|Base64|\batob\(|FromBase64|gzip\.NewReader|zlib\.NewReader|flate\.NewReader|["']["']\.join\(\s*(?:\w+ for \w+(?:, \w+)? in|map|reversed)|Buffer\.from\([^)\n]*,\s*["'](?:base64|hex)|\.unpack1?\b|\bpack\(\s*["']|unhexlify|fromhex|hex\.Decode|hex2bin|\bzlib\.decompress|gzinflate|gzuncompress|\binflate\w*\(|lzma\.decompress|bz2\.decompress|fromCharCode|fromCodePoint|\bmap\s*\{?\(?\s*chr\b|\bchr\(\s*\w|\bas char\b|strrev|rot_?13|\.reverse\(\)|codecs\.decode|\[::-1\]|charCodeAt|\.translate\(|\bb\s*\^\s*\d|\^\s*0x[0-9a-fA-F]+|\bord\(\s*\$?_?\w*\s*\)\s*\^|\.subarray\(|base64\.\w+Encoding\.Decode|string\.char\(|\bunpack\s*\(?\s*["']|base64_decode|convert_from\(`)
	// picked is a program that is an element of a list.
	picked = express(`\b(?:exec\.Command(?:Context\(\s*\w+,)?|spawn(?:Sync)?|execFile(?:Sync)?|Popen|subprocess\.(?:run|call|check_\w+)|Command::new)\(?\s*\(?\s*\[?\s*&?[a-zA-Z_]\w*\[\s*\d+\s*\]|(?:globalThis|global|window|self)(?: as \w+)?\[\s*[^"'\]\s][^\]\n]*\]\s*\)?\s*\(|\(\s*0\s*,\s*(?:globalThis|global|window|eval)\b|\bgetattr\(\s*_?\w*(?:builtins?|__main__)\w*\s*,|\bprintf?\b[^\n]{0,20}\|\s*(?:ba)?sh\b|\$\{?\w+\}?\(\s*(?:base64|gz|str)\w*\(|@?extract\(\s*\$_(?:REQUEST|GET|POST)|=\s*Object\.getPrototypeOf\(\s*async|-(?:EncodedCommand|enc)\s+\$?\w|(?i:powershell)[^\n]{0,40}-enc\w*|\b(?:exec\.Command(?:Context\(\s*\w+,)?|spawn|Popen|Command::new)\(\s*[\w.]*(?:Replace|[Dd]ecode|[Rr]everse|rot13|unpack)\w*\(|\brunIn(?:New|This)Context\(\s*[a-z]`)
	// ownArguments are a program's own, or a line that was taken apart.
	ownArguments = express(`\b(?:args?|argv|cmd\w*|command\w*|words|fields|parts|line|toks?|tokens|list|call|spec|prog\w*|c|f|a|s)\[\s*\d`)
	// printsResults are results of tests that a program prints itself; runsAnything is
	// what one has that runs tests.
	printsResults = express(`(?i)(?:print\w*|echo|console\.log|puts|write\w*|say)\W{1,4}[^\n]{0,12}(?:\bPASS\b[: ]|\bok\s+\\?t|\d+ passed|\bTests?:\s+\d+ passed|all (?:\d+ )?tests? (?:pass\w*|ok)|=+ \d+ passed|OK \(\d+ tests?|BUILD SUCCESS|--- PASS|\btest result: ok)`)
	runsAnything  = express(`(?i)\b(?:exec\w*|spawn\w*|subprocess|Command|system|popen|require\(\s*["']\.|import\s[^\n]*from\s+["']\.|\bgo test|\bpytest|\bnpm|\bmake|\$\(|assert|expect|reporter)`)
)

// programmed is what a written program runs that nobody can read off it.
func (o *ordinary) programmed(a *act, p string, test bool) string {
	if !programFile.MatchString(p) || prose.MatchString(p) {
		return ""
	}
	text, old := a.text, a.old
	for _, m := range picked.FindAllString(text, 20) {
		if picked.MatchString(old) || ownArguments.MatchString(m) {
			continue
		}
		return "which program or code " + quote(m) + " runs is not written out"
	}
	run, made := runsText.FindString(text), makesText.FindString(text)
	if run != "" && made != "" && !(runsText.MatchString(old) && makesText.MatchString(old)) && withinBytes(text, run, made, 1500) {
		return quote(run) + " may run what " + quote(made) + " makes of other text; write it out"
	}
	if m := printsResults.FindString(text); m != "" && !printsResults.MatchString(old) && !runsAnything.MatchString(text) && !test {
		return quote(m) + " tells of tests that nobody has run"
	}
	for _, m := range startsShell.FindAllStringSubmatch(text, 40) {
		command := strings.Join(m[1:], "")
		if strings.Contains(old, command) {
			continue
		}
		if why := o.startedCommand(command); why != "" && !(test && fixture.MatchString(p)) {
			return why
		}
	}
	return ""
}

// withinBytes says whether two parts of a text stand within so many bytes of each other: in
// different places of a large program they have nothing to do with each other.
func withinBytes(text, one, other string, bytes int) bool {
	at, to := strings.Index(text, one), strings.Index(text, other)
	return one != "" && other != "" && max(at, to)-min(at, to) < bytes
}

// startsShell is a command that stands in a program, and is run by a shell.
var startsShell = express(`\b(?:system|popen|exec|execSync|shell_exec|passthru|os\.system|os\.popen|getoutput|subprocess\.\w+|Popen|check_output|check_call|run|sh|bash)\(\s*[rbf]?(?:"((?:[^"\\\n]|\\.){6,400})"|'((?:[^'\\\n]|\\.){6,400})'|\x60([^\x60\n]{6,400})\x60)`)

// startedCommand is inScript for a command that stands in a program; it also deletes no
// more than a command here would.
func (o *ordinary) startedCommand(command string) string {
	r := o.src.reader("script")
	if r.script(command, pipe{}) != nil {
		return ""
	}
	for i := range r.acts {
		b := &r.acts[i]
		if b.guess || open(b.program) || b.program == "contrived" {
			continue
		}
		if why := o.inScript(b); why != "" {
			return why
		}
		if slices.Contains([]string{"rm", "find", "shred", "truncate", "chmod", "mv"}, b.program) {
			if why := o.deletes(b); why != "" {
				return why
			}
		}
	}
	return ""
}
