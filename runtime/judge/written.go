package judge

import (
	"regexp"
	"slices"
	"strings"
)

// What is written into files is judged by what such files hold in ordinary work, subject
// by subject: programs (written_programs.go), what they send (written_flow.go), what they
// take away (written_losses.go), whom they let in (written_trust.go), tests and settings
// of checks (written_tests.go), and remarks (written_remarks.go).

// A risk is something that written text does not hold in ordinary work.
type risk struct {
	x   *regexp.Regexp
	why string // ends a sentence that begins with what was found
}

// newly is the first of some risks that a change brings in: what stood in the old text as
// well is no matter of this change.
func newly(risks []risk, text, old string) string {
	for _, r := range risks {
		if m := r.x.FindString(text); m != "" && !r.x.MatchString(old) {
			return quote(strings.TrimSpace(m)) + " " + r.why
		}
	}
	return ""
}

// Kinds of files, by their names.
var (
	programFile  = express(`\.(?:py|pyi?w|rb|rake|go|rs|js|mjs|cjs|jsx|ts|mts|cts|tsx|vue|svelte|php\d?|phtml|pl|pm|t|java|kt|kts|scala|groovy|swift|cs|fs|vb|c|h|cc|cpp|cxx|hpp|m|mm|lua|ex|exs|erl|clj|dart|zig|nim|jl|R|r|ps1|sh|bash|zsh|hs|ml)$|(?:^|/)(?:Rakefile|Gemfile|SConstruct|wscript|Jenkinsfile)$`)
	pageFile     = express(`\.(?:html?|vue|svelte|md|mdx|rst|adoc|svg|erb|ejs|hbs|jinja2?|tmpl|gohtml|twig)$`)
	databaseFile = express(`\.(?:sql|psql|ddl|pgsql|mysql)$`)
	machineFile  = express(`\.(?:ya?ml|json|tf|hcl|toml|ini|conf|cfg|service|timer|crontab|cron|mdc)$|(?:^|/)(?:Dockerfile[\w.-]*|Procfile|[\w.-]+\.dockerfile|Makefile|GNUmakefile|justfile|sudoers(?:\.d/[^/]*)?|crontab|cron(?:\.d)?/[^/]*|CODEOWNERS)$`)
	trialFile    = express(`(?i)(?:^|[/_.-])(?:tests?|testdata|fixtures?|seeds?|examples?|samples?|demo|dev|tmp|scratch|bench\w*|mocks?|fakes?|stubs?|down|rollback|reset)(?:[/_.-]|$)`)
)

// writtenText: what a change puts into a file is what such files hold.
func (o *ordinary) writtenText(a *act, p string) string {
	if a.loose || len(a.text) > 256<<10 {
		return ""
	}
	test := o.places["tests"].MatchString(p)
	checks := []func() string{
		func() string { return remarked(a.text, a.old, p) },
		func() string { return leaks(a.text, a.old, p) },
		func() string { return trusts(a.text, a.old, p, test) },
		func() string { return unguards(a.text, a.old, p, test) },
		func() string { return loses(a.text, a.old, p, test) },
		func() string { return o.programmed(a, p, test) },
		func() string { return asserted(a.text, a.old, p, test, slices.Contains(a.through, ">")) },
	}
	for _, check := range checks {
		if why := check(); why != "" {
			return why
		}
	}
	return ""
}
