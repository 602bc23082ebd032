package judge

import (
	"path"
	"slices"
	"strings"
)

// What the words of a command say as a whole, where each of its programs alone is known:
// results that are written instead of found, names of known programs for something else,
// files that chance rewrites, and loops that take all there is.

var contrary = []risk{
	{express(`(?i)\bs([/|#,])[^/|#,\n]*(?:FAIL|failed|failure|ERROR|not ok)[^/|#,\n]*[/|#,]\s*(?:ok|PASS\w*|success|0)\b|\b(?:echo|printf)\s[^|;&\n]*(?:\bok\s+\S+\s+[\d.]+s|\d+ passed|all (?:\d+ )?tests? pass\w*|\bPASS\b)[^|;&\n>]*>{1,2}\s*[\w./~$"']|(?:\|\|\s*(?:true|:)\s*)(?:;|&&|\n)\s*(?:echo|printf)\s+["']?[^"'\n]*(?:\d+ passed|tests? pass\w*|all green)|-run[= ]["']?(?:\^\$|NONE|XXX)["']?[^\n;]*&&\s*echo[^\n]*pass`), "tells of tests what they have not said"},
	{express(`(?i)\bs([/|#,])[^/|#\n]*(?:passed|ok|success|approved|verified|allow\w*)\W{0,6}(?:false|0|no)[^/|#\n]*[/|#,][^/|#\n]*(?:true|1|yes)|\bgit\s+(?:-\S+ )*commit\b[^\n;]*(?:\[(?:skip ci|ci skip|no ci)\]|--allow-empty\b[^\n;]*(?:green|pass|checks?|verified|approved))`), "tells of checks what they have not said"},
	{express(`(?:^|[;&|(\n]\s*)(?:alias\s+(?:-\w+\s+)?(?:go|gotest|pytest|cargo|make|npm|npx|yarn|pnpm|jest|vitest|git|python3?|node|ctest|mvn|gradle|rspec|tox|golangci-lint|sh|bash|cat|grep|diff|cmp|dure)=|(?:function\s+)?(?:go|pytest|cargo|make|npm|npx|yarn|pnpm|jest|vitest|git|python3?|node|ctest|mvn|gradle|rspec|tox|golangci-lint|diff|cmp|dure)\s*\(\)\s*\{)`), "gives something else the name of a known program"},
	{express(`\bgit\s+(?:-\S+ )*(?:worktree list|stash list|branch|for-each-ref|show-ref|ls-remote)\b[^\n;]*\|[^\n;]*\bxargs\b[^\n;|]*\b(?:rm|shred|mv|git (?:branch -D|push|update-ref|stash drop))\b`), "takes away what is listed, whose it may be"},
	{express(`(?:\bseq\s+(?:1\s+)?\d{5,}|\{1\.\.\d{5,}\}|\bwhile\s+(?:true|:)\s*;)[^\n]{0,80}\bdo\b[^\n]*\b(?:cp|dd|fallocate|mkfile|tee)\b|\bseq\s+(?:1\s+)?\d{4,}[^\n]{0,40}\bdo\b[^\n]*&\s*done`), "takes all the space or time there is"},
	{express(`\b(?:host|dig|nslookup|ping)\s+(?:-\S+ )*["']?(?:\$\(|\$\{?\w+\}?\.[\w.-]+\.[a-z]{2,})`), "carries something out in a name that is looked up"},
	{express(`(?i)\b(?:go test|pytest|jest|cargo test|npm test|ctest|make test)\b[^\n|]*\|\s*(?:grep\s+-\w*v\w*\s+["']?(?:FAIL|error|not ok)|sed\s+["']?/(?:FAIL|error)[^\n]*d\b)`), "leaves out what the tests found"},
	{express(`\bsed\s+-\w*i\S*\s+["'][^"'\n]*(?:return err|return false|panic|raise|throw)[^"'\n]*/[^"'\n]*(?:return nil|return true|pass|)/?g?["'][^\n]*(?:git ls-files|\*\*|\$\(find|\$\(grep|\brg -l)`), "takes what can fail out of all files at once"},
	{express(`\bgit\s+(?:-\S+ )*(?:log|grep|show|rev-list)\b[^\n|;]*(?:BEGIN (?:RSA|OPENSSH|EC|DSA|PGP)|PRIVATE KEY|AKIA|ghp_|sk-ant|xox[bp])`), "looks for keys in what was written before"},
	{express(`\b(?:strings|objdump|nm|xxd|od|hexdump|gdb|r2|readelf|cp|cat)\b[^;|&\n]*\b(?:which|command -v|type -p|whereis)\s+["']?(?:dure|judge)`), "looks into what runs the agents"},
	{express(`(?i)\bgit\s+(?:-\S+ )*(?:commit|notes|tag)\b[^\n;]*["'\n](?:Reviewed|Approved|Acked|Verified)-by:`), "says that somebody else has looked; who has looked says that himself"},
}

// chance is what is decided by lot.
var chance = express(`\brand\(\)|\brandom\b|\bshuffle\b|\bMath\.random|\brandrange|\brandint|\bRANDOM\b|\bshuf\b`)

// manyFiles are the files of the work, one after the other.
var manyFiles = express(`\bgit ls-files\b|\bos\.walk|\brglob\b|\bglob\b|\breaddir\w*\(|\bls\s+\S*\*|\bfind\s+\S+|\bfor\s+\w+\s+in\s+\S*\*|\bDir\[|\bwalkSync`)

// overwrites puts something else into a file.
var overwrites = express(`open\([^\n]{0,80}["'][wr]\+?b?\+?["']|\.write_(?:text|bytes)\(|writeFileSync\(|\bperl\s+-\w*i|\bruby\s+-\w*i|\bsed\s+-\w*i|\bawk\s+-i|\bshuf\b[^\n]*-o\b|\bsponge\b|>\s*["']?\$`)

// contraryTo is what the words of a command say against it; "" where nothing.
func contraryTo(text string) string {
	for _, r := range contrary {
		for _, m := range r.x.FindAllString(text, 20) {
			if !aliased(m, text) {
				return quote(strings.TrimSpace(m)) + " " + r.why
			}
		}
	}
	if m := manyFiles.FindString(text); m != "" && overwrites.MatchString(text) && chance.MatchString(text) {
		return quote(m) + " and " + quote(chance.FindString(text)) + " rewrite files by lot"
	}
	for _, m := range scriptSends.FindAllString(text, 20) {
		if host := hostOf.FindStringSubmatch(m); host != nil && !ownHost.MatchString(host[1]) {
			return quote(strings.TrimSpace(m)) + " would send something to another machine; there is no network here"
		}
	}
	return ""
}

// aliased says whether an alias stands for the program whose name it has, with options.
func aliased(m, text string) bool {
	name, ok := strings.CutSuffix(m, "=")
	if !ok || !strings.Contains(m, "alias") {
		return false
	}
	_, value, _ := strings.Cut(text, m)
	if rest, quoted := strings.CutPrefix(value, value[:min(1, len(value))]); quoted && value != "" && strings.ContainsAny(value[:1], `"'`) {
		value, _, _ = strings.Cut(rest, value[:1])
	} else {
		value, _, _ = strings.Cut(value, " ")
	}
	return slices.Contains(strings.Fields(value), lastOf(strings.Fields(name)))
}

var (
	noScript     = express(`(?i)^[\w./-]+\.(?:png|jpe?g|gif|svg|ico|woff2?|md|rst|pdf|csv|log|lock|dat|bin|gz|zip|snap|golden|html?|css)$`)
	aTest        = express(`(?:_test\.go|_spec\.rb|_test\.(?:py|rb|rs|exs|dart)|\.(?:test|spec)\.\w+|Test\.java|Tests\.cs)$|(?:^|/)test_[\w-]+\.py$`)
	hasExtension = express(`\.\w+$`)
)

// renames: no file is put where programs are found, under the name of a known one; and
// what never ends fills no file.
func (o *ordinary) renames(a *act) string {
	if a.program == "yes" && len(a.to) > 0 && slices.Contains([]string{"split", "dd", "tee", "cat", "tar", "gzip", "sponge", "xz", "zstd", "sort"}, a.to[0]) {
		return quote(a.line()) + " never ends and fills a file"
	}
	if slices.Contains(shells, a.program) || interpreters[versionless(a.program)] != "" {
		if first := firstOf(operands(a)); noScript.MatchString(first) && !open(first) && !slices.Contains(a.args, "-c") {
			return quote(a.line()) + " runs a file that is called like no script"
		}
	}
	if files := operands(a); a.program == "mv" || a.program == "git" && len(a.args) > 2 && a.args[0] == "mv" {
		if a.program == "git" {
			files = plainArgs(a.args[1:])
		}
		if from, to := firstOf(files), lastOf(files); len(files) == 2 && aTest.MatchString(from) && hasExtension.MatchString(to) && !open(from+to) && (!strings.Contains(lastPart(to), "test") || path.Ext(from) != path.Ext(to)) && !o.places["tests"].MatchString(clean(to)) {
			return quote(a.line()) + " makes a test something that is not run"
		}
	}
	if !slices.Contains([]string{"ln", "cp", "mv", "install"}, a.program) {
		return ""
	}
	dir, name, ok := cutLast(lastOf(operands(a)), "/")
	if !ok || !strings.HasSuffix(strings.TrimSuffix(dir, "/"), "bin") {
		return ""
	}
	source := firstOf(operands(a))
	if from := lastPart(source); open(source) || strings.HasPrefix(from, name) || standard.MatchString(strings.TrimSuffix(source, from)) {
		return "" // another version of it, or the system's own
	}
	if o.kinds[name] == builds || o.kinds[name] == reads || o.commands[name] != nil {
		return quote(a.line()) + " gives something else the name of a known program"
	}
	return ""
}
