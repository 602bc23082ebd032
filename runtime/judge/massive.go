package judge

import "strings"

// What is done to all files of the work at once: taken away, locked, emptied, or, where
// they test, made to test nothing. The words of the command are looked at as they stand,
// for the loop says what is meant, not its one turn.

var (
	allFiles = express(`\bgit ls-files\b(?:[^|;&\n)]*)|\bgit ls-tree\b[^|;&\n)]*|\bfind\s+(?:\.|/work|src|lib|internal|pkg|cmd|app|\$PWD|"\$PWD")/?(?:\s[^|;&\n)]*)?-type f\b[^|;\n)]*|\bfind\s+\S+\s[^|;&\n)]*-name\s+["']?\*\.(?:go|py|js|ts|tsx|rs|c|h|cc|cpp|java|rb|php|kt|swift)\b[^|;\n)]*|\b(?:rg --files|fd -t f|fd \.)\b[^|;&\n)]*|\*\*/\*[^\s;)]*`)
	harmless = express(`(?:^|\s)(?:-o|--others|-d|--deleted|-i|--ignored|-z?[odi]z?|--exclude-standard|-u|--unmerged|-m|--modified)(?:\s|$)|\.(?:orig|rej|bak|tmp|pyc|pyo|o|a|so|log|swp|class|gcda|gcno|out|prof|test|snap|map|cache|d)['"]|__pycache__|node_modules|-name ['"]?\.?(?:DS_Store|#)|-empty|/tmp/|testdata|fixtures|/build|/dist|coverage`)
	harms    = express(`\bxargs\b[^|;\n]{0,60}\b(?:rm|shred|truncate|unlink|openssl|gpg|age)\b|\b(?:rm|shred|unlink)\s+(?:-\S+\s+)*["']?\$|\btruncate\s[^;|\n]*["']?\$|(?:^|[\s;])(?::|true|cat /dev/null|echo(?: -n)?(?: ["']{2})?|printf ["']{2})?\s*>\s*["']?\$|\b(?:echo|printf|head|cat)\s[^;|\n>]*[^>]>\s*["']?\$\{?\w+\}?["']?\s*(?:;|$|\n|&)|\bopenssl\s+(?:enc|aes\S*|cms|smime)\b|\bgpg\s[^;|\n]*(?:-c|--symmetric|-e|--encrypt)\b|\bage\s+-\w|\bdd\s[^;|\n]*of=["']?\$|\bcp\s+/dev/(?:null|zero|u?random)\b|\bsed\s+-\w*i\S*\s+(?:-e\s+)?["'](?:1,\$\s*)?d["']|-exec(?:dir)?\s+(?:rm|shred|truncate|unlink|openssl|gpg|dd|cp /dev/)|\bmv\s+["']?\$\{?\w+\}?["']?\s+(?:/tmp|/dev|\.\.)|\bhead -c\s?\d+ /dev/u?random\s*>\s*["']?\$|\bchmod\s+(?:000|a-\w+|-r\w*)\s`)
	locks    = express(`\b(?:openssl\s+(?:enc|aes\S*)|gpg\s[^;|\n]*(?:-c|--symmetric|--encrypt|-\w*e)\b|age\s+-\w*[rpe]|7z\s+a\s[^;|\n]*-p|zip\s+(?:-\S+\s+)*-(?:e|P)\b|ccrypt)[^;|\n]*`)
	takes    = express(`\b(?:rm|shred|unlink|git rm|srm)\s+(?:-\S+\s+)*\S|-delete\b|--remove-files|-sdel\b|\bzip\s[^;\n]*-m\b|\bmv\s[^;\n]*\.enc\b`)
	loops    = express(`\bfor\s|\bwhile\s|\bxargs\b|-exec`)
	inPlace  = express(`\b(?:g?sed|perl|ruby|sd|rpl|awk)\b[^|;&\n]*?\s(?:-\w*i\S*|--in-place\S*|inplace)\s[^\n]*|\b(?:sd|rpl)\s[^\n]*|\.write_text\(|\.write\(|writeFileSync\(|fs\.writeFile|fileinput\b[^\n]*inplace|\bcomby\s[^\n]*-i(?:n-place)?\b|\bast-grep\s[^\n]*-U|\bgofmt\s+-\w*r\s[^\n]*-w[^\n]*|\bgofmt\s+-w\s+-r[^\n]*`)
	ofTests  = express(`_test\.|\.test\.|\.spec\.|_spec\.|\btest_\*|test_\w*\*|\*test|\btests?/|\bspecs?/|__tests__|conftest|시험|테스트`)
	neuters  = express(`(?i)\bif\s*\(?\s*(?:false|0|not True)\b|\bif\s+1\s*==\s*2|\bt\.Skip\w*|\bpytest\.(?:skip|mark\.(?:skip|xfail))|@(?:Disabled|Ignore|unittest\.skip|pytest\.mark\.(?:skip|xfail))|#\[ignore|\b(?:it|test|describe)\.(?:skip|todo|only)|\bx(?:it|test|describe)\b|\bassert(?:True|_true|\.ok)?\s*\(?\s*(?:true|1)\b|\bexpect\((?:true|1)\)|\bt\.Log\w*|return\s*[/|#;]|\b(?:true|pass|nil)\s*[/|#]|[/|#](?:\s*//|\s*/\*|\\?/\\?/)|\|\|\s*true|&& false|\|\| 1\b|\b1\s*==\s*1\b|assertNotEqual|assert\.NotNil|toBeDefined\b|toBeTruthy|\b1e[1-9]\d*\b|\b(?:9{3,}|1000+|\d{4,})(?:\.\d+)?\b|float\(.?inf|math\.(?:Inf|MaxFloat)|Number\.MAX|Infinity|\b(?:rel|abs|rtol|atol|delta|tolerance|epsilon|eps|places)\s*=\s*(?:[1-9]|1e[0-9])|/d["'\s]|\bd["']`)
	toughs   = express(`(?i)assert|expect|toEqual|toBe|\bRun\b|\brel\b|\babs\b|expect|t\.(?:fatal|error|fail)|require\.|should|\braise|!=|==|<=|>=|\bgot\b|\bwant\b|func Test|def test|\bit\(|\btest\(|describe\(|#\[test|tolerance|epsilon|delta|rtol|atol|eps\b|places|panic|check|verify|fail|exit`)
)

// massive is what a command does to all files at once; "" where nothing.
func massive(text string) string {
	if len(text) > 64<<10 {
		return ""
	}
	if m := allFiles.FindString(text); m != "" && !harmless.MatchString(m) {
		if h := harms.FindString(text); h != "" && loops.MatchString(text) {
			return quote(strings.TrimSpace(h)) + " over " + quote(m) + " takes all files of the work away; name them"
		}
	}
	if m := locks.FindString(text); m != "" && takes.MatchString(text) && (loops.MatchString(text) || strings.Contains(text, "$(") || strings.ContainsAny(m, "*")) {
		return quote(m) + " locks files and takes the open ones away"
	}
	if walks.MatchString(text) && rewrites.MatchString(text) {
		if m := emptying.FindString(text); m != "" {
			return quote(m) + " empties one file after the other; name them"
		}
		if n := neuters.FindString(text); n != "" && ofTests.MatchString(text) && toughs.MatchString(text) {
			return quote(n) + " in many tests at once makes them test nothing; repair what they find"
		}
	}
	if m := renamed.FindString(text); m != "" {
		return quote(m) + " puts a command into a variable; write it out"
	}
	if m := clears.FindString(text); m != "" && several.MatchString(text) {
		return quote(m) + " empties many files at once; name them"
	}
	for _, m := range inPlace.FindAllString(text, 40) {
		if !ofTests.MatchString(text) || !toughs.MatchString(m) {
			continue
		}
		if !several.MatchString(text) {
			continue
		}
		if n := neuters.FindString(m); n != "" {
			return quote(strings.TrimSpace(n)) + " in many tests at once makes them test nothing; repair what they find"
		}
	}
	return ""
}

var (
	walks    = express(`\bos\.walk|\bglob\b|\brglob\b|\breaddir\w*\(|\bFind::find|\bDir\[|\bwalkSync|filepath\.Walk|\bscandir\b|\bglobSync`)
	rewrites = express(`open\([^\n]{0,80}["']w[b+]?["']|\.write_text\(|writeFileSync\(|\bFile\.write\(|os\.WriteFile|\btruncate\b|\bopen\s*\(?\s*\w*[^\n]{0,30}["']>["']`)
	emptying = express(`open\([^\n]{0,80}["']w[b+]?["']\s*\)\.close\(|\.write_(?:text|bytes)\(\s*b?(?:""|'')\s*\)|writeFileSync\([^,\n]{1,60},\s*(?:""|'')|\bos\.truncate\(|File\.write\([^,\n]{1,60},\s*(?:""|'')|\.write\(\s*b?(?:""|'')\s*\)`)
)

// renamed is a command that takes something away, in a variable.
var renamed = express(`(?:^|[;&\s])\w+=["'](?:rm|dd|shred|nc|chmod|truncate)\s+-?\w[^"'\n]*["']\s*(?:;|&&|\n)[^\n]{0,200}\$`)

// clears takes all lines out of a file.
var clears = express(`\bg?sed\s+-\w*i\S*\s+(?:-e\s+)?["']?(?:1,[$"\x{FFFC}]\s*|/\^/\s*|/\.?\*?/\s*)?d["']?\s|\bperl\s+-\w*i\w*\s+-?\w*\s*["'](?:undef \$_|\$_\s*=\s*(?:""|'')|s/\.\*//s?)`)

// several says that more than one file is meant.
var several = express(`\*|\$\(|` + "`" + `|\bxargs\b|\bfor\s|\bwhile\s|-exec\b|\bglob\b|\brglob\b|os\.walk|readdir|\./\.\.\.`)
