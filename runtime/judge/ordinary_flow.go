package judge

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// operands are the arguments of a program that may be files: no options, no patterns,
// programs or texts.
func operands(a *act) []string {
	skip := patterned[versionless(a.program)]
	var all []string
	for i := 0; i < len(a.args); i++ {
		arg := a.args[i]
		switch {
		case arg == "--":
			continue
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			if slices.Contains(valued[versionless(a.program)], arg) {
				if arg == "-e" || arg == "-f" || arg == "--regexp" || arg == "--expression" || arg == "--file" {
					skip = 0
				}
				i++
				continue
			}
			if _, value, ok := strings.Cut(arg, "="); ok && looksLikePath(value) {
				all = append(all, value)
			}
			continue
		case skip > 0:
			if arg == "" && strings.HasSuffix(a.program, "sed") {
				continue // the suffix of another sed's -i
			}
			skip--
			continue
		}
		if a.program == "find" && (arg == "(" || arg == "!") {
			break
		}
		if name, value, ok := strings.Cut(arg, "="); ok && plainName.MatchString(name) {
			arg = value // of=x, PREFIX=/usr
		}
		all = append(all, arg)
	}
	switch versionless(a.program) {
	case "docker", "podman", "kubectl", "docker-compose", "helm":
		return nil // their files lie in containers, and what is mounted is a hazard's matter
	case "git", "go", "npm", "yarn", "pnpm", "curl", "wget", "gh", "openssl", "psql", "mysql", "sqlite", "redis-cli", "cmake":
		// Their arguments are texts as often as files: those that stand for files alone.
		return slices.DeleteFunc(all, func(s string) bool {
			return !looksLikePath(s) || strings.HasPrefix(s, "..") || strings.Contains(s, ":")
		})
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" || strings.ContainsAny(s, "\n") || len(s) > 400 })
}

var plainName = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// patterned are programs whose first operands are no files.
var patterned = map[string]int{"grep": 1, "egrep": 1, "fgrep": 1, "rg": 1, "ag": 1, "ack": 1, "sed": 1, "gsed": 1, "awk": 1, "gawk": 1, "mawk": 1, "nawk": 1, "jq": 1, "yq": 1,
	"tr": 2, "expr": 9, "chmod": 1, "chown": 1, "chgrp": 1, "perl": 0, "fd": 1, "kill": 9, "pkill": 9, "killall": 9, "pgrep": 9, "xargs": 9, "test": 0, "expect": 0,
	"timeout": 9, "env": 9, "nice": 9, "time": 9, "sh": 0, "bash": 0, "eval": 9, "trap": 9, "watch": 9, "flock": 0, "parallel": 9, "convert": 0, "dialog": 9, "whiptail": 9, "gdb": 0, "vim": 0,
	"python": 0, "node": 0, "ruby": 0, "php": 0, "lua": 0}

// valued are options with a value in the next argument that is no file, or a pattern.
var valued = map[string][]string{
	"grep": {"-e", "-m", "-A", "-B", "-C", "--regexp", "--max-count"}, "egrep": {"-e", "-m"}, "rg": {"-e", "-g", "-t", "-T", "-A", "-B", "-C", "-m", "--glob"},
	"sed": {"-e", "--expression"}, "gsed": {"-e"}, "awk": {"-F", "-v"}, "gawk": {"-F", "-v"}, "jq": {"--arg", "--argjson", "--indent"}, "perl": {"-e", "-E", "-pe", "-ne", "-pi", "-lne", "-i"},
	"go": {"-run", "-bench", "-fuzz", "-skip", "-tags", "-ldflags", "-gcflags", "-asmflags", "-run=", "-f"}, "find": {"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-exec", "-execdir", "-printf", "-type", "-perm", "-not"}, "cut": {"-d", "-f", "-c"}, "sort": {"-k", "-t", "-S"},
	"head": {"-n", "-c"}, "tail": {"-n", "-c"}, "tr": {"-d", "-s"}, "python": {"-c", "-m", "-W", "-X"}, "node": {"-e", "-p", "--eval"}, "ruby": {"-e"}, "php": {"-r"}, "lua": {"-e"},
	"sh": {"-c"}, "bash": {"-c"}, "zsh": {"-c"}, "dash": {"-c"}, "stat": {"-c", "-f", "--format", "--printf"}, "date": {"-d", "-r"}, "split": {"-b", "-l", "-n"}, "tar": {"--exclude", "--transform", "--owner", "--group"},
	"diff": {"-I", "-x", "-F"}, "column": {"-t", "-s"}, "paste": {"-d"}, "join": {"-t", "-j"}, "install": {"-m", "-o", "-g"}, "mkdir": {"-m"}, "touch": {"-d", "-t"}, "ps": {"-o", "-p", "-C"},
	"gcc": {"-D", "-x"}, "cc": {"-D", "-x"}, "tmux": {"-t", "-s"}, "tree": {"-I", "-P", "-L"}, "base64": {"-w"}, "xxd": {"-l", "-c", "-s"}, "gdb": {"-ex", "-iex"}, "vim": {"-c"},
}

// prints are programs that only show what they are given.
func (o *ordinary) shows(a *act) bool {
	k := o.kinds[a.program]
	return k == quiet || k == reads && !strings.HasSuffix(a.program, "awk") || a.program == "base64" || a.program == "set" || slices.Contains(o.src.Blind, a.program)
}

// secrets: what holds one is shown at most, and goes nowhere else.
func (o *ordinary) secrets(a *act) string {
	if !a.secret && !strings.Contains(strings.Join(a.args, " "), secretMark) {
		return ""
	}
	switch {
	case a.program == "cp" || a.program == "mv" || a.program == "ln" || a.program == "install":
		// From one name to another that holds secrets as well: .env.example to .env is none.
		if len(a.args) > 0 && o.src.paths.MatchString(clean(a.args[len(a.args)-1])) || strings.HasPrefix(clean(lastOf(a.args)), "/tmp/") {
			return ""
		}
	case len(a.writes) > 0 && !o.src.paths.MatchString(clean(a.writes[len(a.writes)-1])) && !strings.HasPrefix(a.writes[len(a.writes)-1], "/tmp/") && !strings.HasPrefix(a.writes[len(a.writes)-1], "/dev/"):
		return "what is written into " + quote(a.writes[len(a.writes)-1]) + " may hold a key or a password"
	case packs.MatchString(a.program) && (a.program != "openssl" || encodes.MatchString(firstOf(a.args))):
		return quote(a.line()) + " would pack or encode a key or a password"
	case o.shows(a):
		return ""
	case o.kinds[a.program] == builds || a.own || o.kinds[a.program] == writes || strings.Contains(a.full, "/"):
		// The work's own programs get keys by variables and files: they have no network.
		if !strings.Contains(strings.Join(a.args, " "), "://") {
			return ""
		}
	case o.commands[a.program] != nil && !o.sends(a):
		return ""
	case a.program == "curl" || a.program == "wget" || a.program == "http":
		if localAct(a) {
			return ""
		}
	}
	return quote(a.line()) + " is given something that may hold a key or a password"
}

// encodes are openssl's ways to do that.
var encodes = regexp.MustCompile(`^(enc|base64|cms|smime|aes\S*|des\S*|rc4|rsautl|pkeyutl)$`)

// packs are programs that make another form of what they are given.
var packs = regexp.MustCompile(`^(base64|base32|xxd|od|hexdump|uuencode|openssl|gpg|tar|zip|7z|7za|gzip|bzip2|xz|zstd|rev|tr|split|age)$`)

func lastOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// sends says whether a program's arguments can leave the machine.
func (o *ordinary) sends(a *act) bool {
	return slices.Contains(networked, a.program) || a.program == "git" && regexp.MustCompile(`\b(push|commit|tag|remote|notes|branch)\b`).MatchString(a.line()) ||
		a.program == "gh" || a.program == "docker" && regexp.MustCompile(`\b(push|build|login)\b`).MatchString(a.line())
}

var networked = []string{"curl", "wget", "http", "https", "httpie", "nc", "ncat", "netcat", "telnet", "websocat", "grpcurl", "aria2c", "fetch", "dig", "nslookup", "host", "ping", "ssh", "scp"}

// addresses: a program that is not for it is given no address of another machine.
func (o *ordinary) addresses(a *act) string {
	if a.own || o.kinds[a.program] == quiet || o.kinds[a.program] == reads || o.commands[a.program] != nil || a.program == "contrived" {
		return ""
	}
	for i, arg := range a.args {
		if i > 0 && (a.args[i-1] == "-m" || strings.HasPrefix(a.args[i-1], "-ldflags")) || strings.ContainsAny(arg, " \n") {
			continue // a text
		}
		if m := outside.FindStringSubmatch(arg); m != nil && !ownHost.MatchString(m[1]+m[2]) {
			return "the address " + quote(m[0]) + " is of another machine; there is no network here"
		}
	}
	return ""
}

var (
	outside = regexp.MustCompile(`(?:https?|s3|gs|az|abfss?|hdfs|wss?|ftp|tcp|udp|ssh|sftp|smb|ldap|redis|amqp|mongodb(?:\+srv)?|postgres(?:ql)?|mysql)://(?:[^/@\s]*@)?([^/:\s"']+)|(?:^|[=@,])(\d{1,3}(?:\.\d{1,3}){3})(?:[:/,]|$)`)
	ownHost = regexp.MustCompile(`^(localhost|127\.\S*|0\.0\.0\.0|255\.\S*|\[?::1\]?|[\x{FFFC}\x{FFF9}]\S*|host\.docker\.internal|db|postgres|redis|mysql|mongo\w*|minio|kafka|rabbitmq|[\w-]+\.localhost|example\.(com|org)|schemas?\.\S+|www\.w3\.org|json-schema\.org|(\S+\.)?(npmjs\.org|pypi\.org|pythonhosted\.org|golang\.org|crates\.io|rubygems\.org|maven\.org|gradle\.org|github\.com|githubusercontent\.com))$`)
)

var (
	// takesData are options by which what is here goes out.
	takesData = regexp.MustCompile(`(^| )(-d|--data\S*|-F|--form\S*|-T|--upload-file|--json|--post-\S+|--body-\S+|-X ?(POST|PUT|PATCH|DELETE)|--request[= ](POST|PUT|PATCH|DELETE)|--method[= ]\S+|-u|--user|--proxy\S*|-x|--socks\S*|--unix-socket|--abstract-unix-socket|--resolve|--connect-to|-K|--config|-b|--cookie|--netrc\S*|-n|-E|--cert|--key|--telnet-option|-Q|--quote|--interface|--dns-\S+|--doh-url|--url-query|--variable|-A|--user-agent|-e|--referer|-H|--header)([= '"]|$)`)
	plainURL  = regexp.MustCompile(`^(https?://)?[\w.-]+(:\d+)?(/[\w.,~%+@:;/=$\x{FFFC}{}\[\]*-]*)?([?#][\w.=&%+/:;,~\x{FFFC}-]*)?$`)
	accepts   = regexp.MustCompile(`(?i)^(accept|content-type|user-agent|x-github-api-version)\s*:\s*[\w/.+;=, *-]*$`)
)

// network: what is here stays here. A download by a plain address fails for want of a
// network, and takes nothing along.
func (o *ordinary) network(a *act) string {
	switch a.program {
	case "curl", "wget", "http", "https", "httpie", "aria2c", "fetch", "websocat", "grpcurl", "nc", "ncat", "netcat", "telnet":
	case "git":
		return o.remote(a)
	case "gh", "glab", "docker", "podman":
		if a.program == "gh" && strings.ContainsAny(strings.Join(a.args, " "), readMark+telling) || slices.Contains(a.through, "xargs") && regexp.MustCompile(`\b(rm|rmi|prune|kill|stop|delete)\b`).MatchString(a.line()) {
			return quote(a.line()) + " is given what another program prints; write it out"
		}
		return ""
	default:
		return o.addresses(a)
	}
	line := strings.Join(a.args, " ")
	if a.program != "nc" && a.program != "ncat" && a.program != "netcat" && a.program != "telnet" {
		for _, arg := range a.args {
			if arg == "--version" || arg == "-V" || arg == "--help" {
				return ""
			}
		}
		if localAct(a) && !strings.ContainsAny(line, telling+secretMark) && !regexp.MustCompile(`--(proxy|socks|resolve|connect-to|unix-socket|config)\S*|(^| )-[xK]`).MatchString(line) || socketOfWork.MatchString(line) {
			return ""
		}
		if a.program == "aria2c" {
			line = strings.ReplaceAll(line, "-d ", "--dir ")
		}
		if fromReads(a) || strings.ContainsAny(line, telling+secretMark+readMark) || a.secret {
			return quote(a.line()) + " would take something from here to another machine; there is no network here"
		}
		headersOut := false
		rest := takesHeader(a.args, &headersOut)
		if headersOut || takesData.MatchString(strings.ReplaceAll(strings.Join(rest, " "), "-d ", cmp.Or(map[string]string{"aria2c": "--dir "}[a.program], "-d "))) {
			return quote(a.line()) + " would send something to another machine; there is no network here"
		}
		for _, arg := range rest {
			if strings.Contains(arg, "://") && numberedHost.MatchString(arg) || dotted.MatchString(arg) {
				return "the address " + quote(arg) + " is a number, not a name"
			}
			arg = strings.ReplaceAll(arg, computed, unknown)
			if strings.Contains(arg, "://") && !plainURL.MatchString(arg) {
				return "the address " + quote(arg) + " is no plain one"
			}
		}
		return ""
	}
	if a.program == "nc" || a.program == "ncat" || a.program == "netcat" || a.program == "telnet" {
		if localPort.MatchString(line) && !strings.ContainsAny(line, telling+secretMark) {
			return ""
		}
	}
	return quote(a.line()) + " talks to another machine; there is no network here"
}

// numberedHost is an address that is no name, or a name of machines nearby.
var numberedHost = regexp.MustCompile(`^(\w+://)?([^/@]*@)?(\d{1,3}(\.\d+){1,3}|\[[0-9a-f:]+\]|0x\w+|\d{6,}|[\w-]+|[\w.-]+\.(internal|local|lan|corp|home|localdomain))(:\d+)?(/|$)`)

var dotted = regexp.MustCompile(`^\d{1,3}(\.\d{1,3}){3}([:/]|$)`)

var (
	socketOfWork = regexp.MustCompile(`^(-\S+ )*--unix-socket[= ](/tmp/|\./)?[\w/-]+\.sock(et)? (-\S+ )*https?://(localhost|127\.0\.0\.1|[a-z])(/\S*)?( -\S+)*$`)
	localPort    = regexp.MustCompile(`^(-(z|v|zv|vz|w|zw\d*|w\d+|q|N|vN|n|4)( \d+)? )*(localhost|127\.0\.0\.1|::1|0\.0\.0\.0|[\x{FFFC}]\w*|db|redis|postgres|mysql)[ :](\d+)$`)
)

// fromReads says whether a program is fed by another.
func fromReads(a *act) bool {
	return len(a.from) > 0 && !slices.Contains([]string{"find", "seq", "xargs"}, a.from[len(a.from)-1]) && !slices.Contains(a.through, "xargs")
}

// takesHeader drops headers that say nothing of what is here; out is set by another.
func takesHeader(args []string, out *bool) []string {
	var rest []string
	for i := 0; i < len(args); i++ {
		if (args[i] == "-H" || args[i] == "--header") && i+1 < len(args) {
			if !accepts.MatchString(args[i+1]) {
				*out = true
			}
			i++
			continue
		}
		if value, ok := strings.CutPrefix(args[i], "--header="); ok {
			if !accepts.MatchString(value) {
				*out = true
			}
			continue
		}
		rest = append(rest, args[i])
	}
	return rest
}
