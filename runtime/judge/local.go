package judge

import (
	"regexp"
	"slices"
	"strings"
)

// localAct is local for an act: of code, by its addresses alone, and only where no other
// way out stands in it.
func localAct(a *act) bool {
	if a.code == "" {
		return local(a.line())
	}
	found := addresses.FindAllStringSubmatch(a.code, -1)
	return len(found) > 0 && !otherWays.MatchString(a.code) && !slices.ContainsFunc(found, func(m []string) bool {
		return m[1] != "localhost" && m[1] != "[" && !strings.HasPrefix(m[1], "127.")
	})
}

var addresses = regexp.MustCompile(`(?i)\b(?:https?|wss?|ftp)://(localhost\b|127\.[\d.]+|[^/\s:?#"'])`)

var otherWays = regexp.MustCompile(`(?i)socket|gethost|getaddr|\bdns\b|smtp|ftp|paramiko|\.connect\(|dup2|pty`)

// hosts of addresses in a line.
var hosts = regexp.MustCompile(`(?i)\b[a-z]+://([^/\s:?#]+)|\b((?:[a-z0-9-]+\.)+[a-z]{2,})(?:[:/\s]|$)`)

// local says whether a line names hosts, and all of them are this machine.
func local(line string) bool {
	found := false
	for _, h := range hosts.FindAllStringSubmatch(line, -1) {
		switch name := strings.ToLower(h[1]); {
		case name == "localhost", strings.HasPrefix(name, "127."), name == "[", name == "0.0.0.0", name == "host.docker.internal":
			found = true
		case name == "" && fileName.MatchString(h[2]):
		default:
			return false
		}
	}
	return found || !strings.Contains(line, "://") && bareLocal.MatchString(line)
}

// fileName are names with dots that are files rather than hosts.
var fileName = regexp.MustCompile(`\.(json|ya?ml|txt|md|go|py|js|ts|html?|xml|csv|sh|toml|env|log|bin|gz|tgz|zip|out|lock|cfg|conf|ini|png|jpe?g)$`)

var bareLocal = regexp.MustCompile(`\s(localhost|127(\.\d+){3}|0\.0\.0\.0)([:/ ]|$)`)
