package judge

import (
	"regexp"
	"strings"
)

var (
	gitSends = regexp.MustCompile(`^(?:.* )?(push|remote (?:add|set-url)|clone|fetch|pull|ls-remote|submodule add|bundle create|archive --remote\S*|subtree (?:push|add|pull)|request-pull|send-email)(?: (.*))?$`)
	ownPlace = regexp.MustCompile(`^(origin|\.|\.\./?\S*|/tmp/\S+|/work/\S+|file:/\S+|dure::\S*|[\x{FFFC}\x{FFF9}]\S*|upstream|HEAD\S*|(refs/heads/)?[\w./@{}^~\x{FFFC}-]+(:(refs/heads/)?[\w./\x{FFFC}-]+)?)$`)
	gitURL   = regexp.MustCompile(`^(https?|git|ssh)://|^[\w.-]+@[\w.-]+:`)
	gitSets  = regexp.MustCompile(`^(?:--(?:global|local|system|worktree|replace-all|add|bool|int|file[= ]\S+) |-f \S+ )*(?:--(?:get|get-all|get-regexp|list|unset|unset-all|show-origin|show-scope|name-only|type=\w+)|-l|--null|-z|list|get|[\w.\x{FFFC}-]+$|(?:user\.(?:name|email|signingkey)|commit\.\w+|tag\.\w+|init\.defaultbranch|core\.(?:autocrlf|eol|quotepath|filemode|symlinks|ignorecase|longpaths|bare|logallrefupdates|abbrev|compression|bigfilethreshold|sparsecheckout\w*|precomposeunicode|commentchar|whitespace|untrackedcache|excludesfile)|color\.\S+|diff\.(?:renames|algorithm|noprefix|context|colormoved|mnemonicprefix|renamelimit)|merge\.(?:conflictstyle|ff|renames|renamelimit|log|directoryrenames)|pull\.\w+|push\.(?:default|autosetupremote|followtags)|rebase\.\w+|branch\.\S+|advice\.\w+|rerere\.\w+|gc\.\w+|log\.\w+|format\.\w+|status\.\w+|help\.\w+|fetch\.\w+|remote\.\S+\.(?:fetch|push|tagopt|promisor|partialclonefilter|mirror)|submodule\.(?:recurse|fetchjobs|\S+\.(?:update|branch|ignore))|safe\.directory|extensions\.\w+|versionsort\.\S+|receive\.deny\w+|http\.(?:postbuffer|lowspeed\w+|version)|pack\.\w+|feature\.\w+|index\.\w+|lfs\.\S+|repack\.\w+|transfer\.fsckobjects|uploadpack\.allow\w+|protocol\.version|protocol\.file\.allow|maintenance\.\S+|apply\.\w+|am\.\w+|notes\.\w+|i18n\.\w+|blame\.\w+|checkout\.\w+|clean\.\w+|column\.\w+|svn-remote\.\S+|stash\.\w+|tar\.\w+|gpg\.format)(?: .*)?)`)
)

// remote: git sends to the origin or to a place on this machine.
func (o *ordinary) remote(a *act) string {
	line := plainMarks(strings.Join(a.args, " "))
	if _, rest, ok := strings.Cut(line, "config "); ok && (strings.HasPrefix(line, "config ") || strings.HasPrefix(line, "-")) {
		if !gitSets.MatchString(strings.ToLower(rest)) {
			return quote(a.line()) + " changes what git runs or where it sends"
		}
		return ""
	}
	m := gitSends.FindStringSubmatch(line)
	if m == nil || stashes.MatchString(line) {
		return ""
	}
	outside := ""
	for _, arg := range strings.Fields(m[2]) {
		if gitURL.MatchString(arg) {
			outside = arg
		}
	}
	switch {
	case strings.Contains(a.line(), secretMark) || strings.Contains(a.line(), telling) && m[1] != "clone":
		return quote(a.line()) + " would take something from here to another machine"
	case outside != "" && m[1] != "clone" && m[1] != "fetch" && m[1] != "pull" && m[1] != "ls-remote" && m[1] != "submodule add":
		return quote(a.line()) + " sends the work to another place than the origin"
	case outside != "" && strings.ContainsAny(outside, computed):
		return "the address " + quote(outside) + " is no plain one"
	case strings.HasPrefix(m[1], "push"):
		for _, arg := range strings.Fields(m[2]) {
			if !strings.HasPrefix(arg, "-") && !ownPlace.MatchString(arg) || arg == "--mirror" || arg == "--all" || arg == "--tags" && a.leaks {
				return quote(a.line()) + " is no push of one branch to the origin"
			}
		}
		for _, arg := range strings.Fields(m[2]) {
			if shared.MatchString(arg) && !localPush.MatchString(line) {
				return quote(a.line()) + " moves a branch of everybody; push your own, what passes its check lands"
			}
		}
		if first := firstPlain(strings.Fields(m[2])); first != "" && !pushTo.MatchString(first) {
			return quote(a.line()) + " sends the work to another place than the origin"
		}
	}
	return ""
}

var stashes = regexp.MustCompile(`(^| )stash( |$)`)

// shared are branches of everybody.
var shared = regexp.MustCompile(`^([^:]*:)?(refs/heads/)?(main|master|trunk|release\S*|production|prod)$`)

var pushTo = regexp.MustCompile(`^(origin|\.\.?(/\S*)?|/tmp/\S+|/work/\S+|file:/\S+|dure::\S*|[\x{FFFC}\x{FFF9}]\S*|upstream)$`)

func firstPlain(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}
