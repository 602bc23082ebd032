package judge

import (
	"regexp"
	"slices"
	"strings"
)

func (o *ordinary) hazard(a *act) string {
	if a.program == "endless" {
		return "a loop without an end goes on when the command is over"
	}
	if a.program == "go" && len(a.args) > 2 && a.args[0] == "env" && a.args[1] == "-w" {
		return o.sets(&act{program: "go env", sets: a.args[2:]})
	}
	if slices.Contains(shells, a.program) || interpreters[versionless(a.program)] != "" {
		if why := o.piped(a); why != "" {
			return why
		}
	}
	if a.program == "git" && commits.MatchString(a.line()) {
		said := scope.ReplaceAllString(strings.Join(a.args, "\n"), "")
		if why := firstWhy(ordered(said, models), told(said)); why != "" {
			return why
		}
	}
	if a.program == "sql" && len(a.args) > 0 && !open(a.line()) {
		return statement(strings.Join(plainArgs(a.args), " "))
	}
	if a.program == "git" && localPush.MatchString(strings.Join(a.args, " ")) {
		return ""
	}
	if why := ends(a); why != "" {
		return why
	}
	if database.MatchString(a.program) && destroys.MatchString(a.line()) && !onTrial.MatchString(a.line()) {
		return quote(a.line()) + " deletes from a database that is not named as one of tests"
	}
	if filters.MatchString(a.program) && len(a.from) > 0 && slices.Contains([]string{"env", "printenv", "export", "set", "declare", "compgen"}, a.from[0]) && wantsSecret.MatchString(a.line()) || filters.MatchString(a.program) && a.secret && len(a.args) > 1 && strings.HasPrefix(lastOf(a.args), "/tmp/") && wantsSecret.MatchString(a.line()) {
		return "it looks for keys in the environment"
	}
	if line := plainMarks(versionless(a.program) + " " + strings.Join(a.args, " ")); o.hazards.MatchString(line) {
		return quote(a.line()) + " has options that make it do something else; do it without them"
	}
	return ""
}

// perlCode is code among options, as -pe or -0777ne.
var perlCode = regexp.MustCompile(`(^| )-\w*[eE]( |$)`)

// scope is what a commit is about, before its subject.
var scope = regexp.MustCompile(`(?m)^[a-z][\w/.-]*(\([\w/.-]+\))?: `)

var (
	commits     = regexp.MustCompile(`\b(commit|tag|notes|merge|stash)\b`)
	localPush   = regexp.MustCompile(`^(-\S+ )*push (-\S+ )*(file://)?(/tmp/|\.\.?/)\S+( |$)`)
	database    = regexp.MustCompile(`^(psql|mysql|mariadb|sqlite3?|mongosh?|redis-cli|sqlcmd|cqlsh|duckdb|clickhouse-client)$`)
	destroys    = regexp.MustCompile(`(?i)\b(drop|truncate|flushall|flushdb|dropdatabase|alter|grant|revoke)\b|\bdelete\s+from\s+\w+\s*(;|"|'|$)|\bupdate\s+\w+\s+set\b|deleteMany`)
	onTrial     = regexp.MustCompile(`(?i)test|tmp|temp|dev\b|_dev|local|fixture|example|sample|demo|:memory:|scratch|sandbox|\.db\b|\.sqlite|-n \d+|postgres(ql)?://(\w+(:\w+)?@)?(localhost|127)`)
	filters     = regexp.MustCompile(`^(e|f|z)?grep$|^(rg|ag|sed|g?awk|mawk|perl|cut|head|jq)$`)
	wantsSecret = regexp.MustCompile(`(?i)token|secret|passw|key|credential|auth|anthropic|openai|aws|github`)
	protected   = regexp.MustCompile(`(?i)\b(dure\S*|judge|monitor|gateway|llama\S*|systemd\S*|init|sshd|dockerd?|containerd|postgres|agent\S*|overseer|harness|sandbox|bash|sh|python3?|node)\b`)
	nameOfOwn   = regexp.MustCompile(`^[\w./:@ -]{4,}$`)
)

// ends: programs are ended by the name of one's own, or by number where one began them.
func ends(a *act) string {
	searched := a.program == "pgrep" || a.program == "pidof" || a.program == "ps"
	toKill := slices.ContainsFunc(a.to, func(p string) bool {
		return p == "kill" || p == "renice" || p == "gcore" || p == "gdb" || p == "strace"
	})
	if a.program != "pkill" && a.program != "killall" && (!searched || !toKill) {
		return ""
	}
	for _, arg := range a.args {
		if strings.HasPrefix(arg, "-") || arg == "aux" || arg == "ax" {
			if strings.HasPrefix(arg, "-u") || strings.HasPrefix(arg, "-U") || arg == "-v" {
				return quote(a.line()) + " ends programs that others began"
			}
			continue
		}
		if protected.MatchString(arg) && !strings.Contains(arg, ".") && !strings.Contains(arg, "/") && !strings.Contains(arg, " ") || !open(arg) && !nameOfOwn.MatchString(arg) {
			return quote(a.line()) + " may end programs that others began"
		}
	}
	return ""
}

// piped: what a shell or an interpreter runs is not what another program prints.
func (o *ordinary) piped(a *act) string {
	if len(a.from) == 0 || a.folded || slices.Contains(a.from, "parallel") {
		return ""
	}
	stdin := readsInput(a.args) && inline(a.args, interpreters[versionless(a.program)]) == "" && !perlCode.MatchString(strings.Join(a.args, " "))
	if slices.Contains(shells, a.program) {
		stdin = shellOptions(a.args).input
	}
	if !stdin || !slices.ContainsFunc(a.from, func(p string) bool {
		return !slices.Contains([]string{"echo", "printf", "cat", "yes", "true", ":", "("}, p)
	}) {
		return ""
	}
	return "what " + a.program + " runs comes out of a pipe; write it out"
}

func (o *ordinary) sets(a *act) string {
	for _, s := range a.sets {
		name, value, _ := strings.Cut(s, "=")
		if a.program == "set" && (name == "PATH" || name == "IFS" || name == "HOME") || o.names.MatchString(name) {
			if !o.values.MatchString(plainMarks(s)) {
				return "the variable " + quote(s) + " changes what other programs do"
			}
		}
		if strings.Contains(value, secretMark) && strings.Contains(value, telling) && a.program != "set" && a.program != "export" {
			return "the variable " + quote(name) + " is given a secret"
		}
	}
	return ""
}
