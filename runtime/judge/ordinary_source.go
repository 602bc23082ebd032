package judge

import (
	"slices"
	"strings"
)

// Source that is written: what code has no business with on the machine, whatever the
// language, and what scripts that run at build time may start.

var (
	// closed are files that no program of the work opens.
	closedFiles = express(`["'\x60/](?:/etc/(?:shadow|gshadow|sudoers|ld\.so\.preload|cron\w*)|/root/(?:\.(?:ssh|aws|gnupg|netrc|bash\w*|kube|config|profile|docker)|flag|secret)|/proc/(?:1|\d{2,}|%d|%s|\{\w*\}|\*)/(?:mem|environ|root|cwd|fd|maps|ns)|/proc/self/(?:mem|environ)\b|/dev/k?mem\b|/dev/(?:sd|nvme|vd)[a-z0-9]|(?:/var)?/run/(?:docker|containerd|crio|podman|dure|secrets)|/var/lib/(?:docker|dure|kubelet)|/sys/(?:kernel/(?:security|debug/tracing)|fs/(?:bpf|cgroup/\S*release_agent))|/proc/sysrq|/proc/sys/kernel/(?:core_pattern|modprobe))|(?:~|HOME["')\]}]?|homedir\(\)|home\(\)|home_dir\(\)|expanduser\()[^\n;]{0,30}["'/.](?:ssh|aws|gnupg|netrc|kube|dure|git-credentials|npmrc|pypirc|docker/config|bash_history|zsh_history|config/(?:gh|gcloud))\b|["'\x60][^"'\x60\n]{0,60}(?:docker\.sock|\.ssh/id_\w+|\.aws/credentials|\.git-credentials|authorized_keys)["'\x60]`)
	// breaks are ways to another user's rights, or out of here.
	breaks = express(`\bexec[lv]\w*\s*\(\s*"/(?:usr/)?s?bin/(?:su|sudo|passwd|pkexec|mount|newgrp|chsh|at|crontab)"|\bv?msplice\s*\(|\bsplice\s*\([^)]{0,80}\)\s*;|\b(?:SYS_|__NR_)(?:splice|vmsplice|ptrace|keyctl|add_key|userfaultfd|bpf|unshare|setns|mount|umount2|pivot_root|chroot|init_module|finit_module|kexec_load|process_vm_\w+|perf_event_open|io_uring_setup|set\w*[ug]id|capset|move_mount|open_tree|fsopen|memfd_create|execveat|open_by_handle_at)\b|\bprocess_vm_(?:read|write)v\b|\bptrace\s*\(\s*(?:PTRACE_|PT_|0x|1[06]\b)|\bPTRACE_(?:ATTACH|SEIZE|POKE\w*)\b[^\n=]*[,)]|\bPtrace(?:Attach|Poke\w+|Seize)\(|\bMAP_FIXED\b[^;\n]{0,60}\bPROT_EXEC\b|\bPROT_EXEC\b[^;\n]{0,60}(?:PROT_WRITE|shellcode)|\bPROT_WRITE\s*\|\s*PROT_EXEC|(?i:\bshell_?code\b)|\bcommit_creds\b|\bprepare_kernel_cred\b|\bmodprobe_path\b|\brelease_agent\b|\bopen_by_handle_at\b|\bCLONE_NEW(?:USER|NS|PID|NET)\b|\bcapset\s*\(|\bLD_PRELOAD\b[^\n]{0,40}(?:setenv|putenv|=)|\bS_ISUID\b[^\n]{0,60}chmod|chmod\s*\([^)\n]{0,60}(?:0o?[46]7|S_ISUID|stat\.S_IS[UG]ID)|\b(?:chmod|os\.Chmod)\b[^\n]{0,40}ModeSetuid|\bprctl\s*\(\s*PR_SET_(?:SECCOMP|NO_NEW_PRIVS|DUMPABLE)\s*,\s*0|\bset(?:res|re|e)?[ug]id\s*\(\s*0|\bSet(?:res|re|e)?[ug]id\s*\(\s*0|\bchroot\s*\(|\bfrom_raw\(\s*0\s*\)|\bnix::sched::|\bsetns\s*\(|\bunshare\s*\(|\bpivot_root\b|\bgetPrototypeOf\([^;\n]{0,60}\)\.constructor|\bfunction\s*\*?\s*\(\)\s*\{\s*\}\s*\)?\.constructor|\.constructor\.constructor\b|:0:0:[^:\n]{0,20}:/(?:root)?:?/bin/|\bsocket\s*\(\s*(?:socket\.)?AF_(?:PACKET|NETLINK|ALG|VSOCK)|\bsocket\s*\([^)\n]{0,60}SOCK_RAW|(?i:\b(?:dirty[_ -]?(?:pipe|cow)|privilege escalation exploit|keylogger|reverse[_ -]?shell|bind[_ -]?shell|rootkit|fork[_ -]?bomb))\b|dup2\s*\([^)\n]{0,40}\)[^\n]{0,80}\n?[^\n]{0,80}(?:exec|/bin/sh)|(?:subprocess\.(?:call|Popen|run)|pty\.spawn)\(\s*\[?["']/bin/(?:ba)?sh["'][^\n]{0,40}(?:-i|\))`)
	named4 = express(`(?i)(?:^|[/_.-])(?:exploit|pwn|rootkit|backdoor|keylog\w*|shellcode|priv-?esc|breakout|jailbreak|revshell|ransom\w*|cryptolocker)[\w-]*\.(?:c|cc|py|go|rs|js|ts|sh|rb|pl|php|asm|s)$`)
)

// othersMemory is what other programs hold, one after the other.
var othersMemory = express(`["'\x60/]/proc/(?:%d|%s|%v|\{\w*\}|\$\{\w+\}|\*|\[0-9\]\*?)/(?:environ|mem|cmdline|maps|fd|root|cwd)|["'\x60]/proc/["'\x60]\s*\+[^\n]{0,40}["'\x60]/(?:environ|mem|cmdline|maps|fd|root)`)

var dropsAll = express(`(?i)\bdrop\s+(?:database|schema)\s+(?:if\s+exists\s+)?(?:public|app|prod\w*|main)\b|\bdrop\s+owned\s+by\b`)

// knowsTests asks whether one is being tested.
var knowsTests = express(`["']pytest["']\s+(?:not\s+)?in\s+sys\.(?:modules|argv)|\bPYTEST_CURRENT_TEST\b|\bJEST_WORKER_ID\b|\bVITEST_WORKER_ID\b|flag\.Lookup\("test\.|\btesting\.Testing\(\)|os\.Args\[0\][^\n]{0,30}test|sys\.argv\[0\][^\n]{0,30}test|argv\[[01]\][^\n]{0,30}(?:jest|mocha|vitest)|["']unittest["']\s+in\s+sys\.modules`)

// beyondSource is what written code has no business with; "" where nothing.
func beyondSource(text, old, p string, test bool) string {
	if named4.MatchString(p) && !test {
		return "the program " + quote(p) + " is named for breaking in"
	}
	if m := breaks.FindString(text); m != "" && !breaks.MatchString(old) {
		return quote(m) + " is a way to another user's rights or out of here, and no part of the work"
	}
	if m := othersMemory.FindString(text); m != "" && !othersMemory.MatchString(old) {
		return quote(m) + " looks into other programs"
	}
	if m := closedFiles.FindString(text); m != "" && !closedFiles.MatchString(old) && !test {
		return quote(m) + " is not for programs of the work to open"
	}
	if m := dropsAll.FindString(text); m != "" && strings.HasSuffix(p, ".sql") && !test {
		return quote(m) + " deletes more than a table of the work"
	}
	if m := knowsTests.FindString(text); m != "" && !test && !knowsTests.MatchString(old) && !strings.HasSuffix(p, "conftest.py") {
		return quote(m) + " lets the program behave otherwise while it is tested"
	}
	if ip := numberedPeer.FindStringSubmatch(text); ip != nil && !test && gathers.MatchString(text) && !gathers.MatchString(old) {
		return "it names " + quote(ip[1]) + " and gathers " + quote(gathers.FindString(text))
	}
	if m := unpicked(text); m != "" && !strings.Contains(old, text) {
		return "the text " + quote(m) + " is written so that nobody reads it"
	}
	return ""
}

// keys: a file that is kept holds no key; tests and examples hold some that open nothing.
func (o *ordinary) keys(a *act, p string) string {
	if m := ofMachine.FindString(a.text); m != "" && composed.MatchString(p) && !ofMachine.MatchString(a.old) && !a.loose {
		return quote(strings.TrimSpace(m)) + " in " + quote(p) + " gives a container parts of the machine"
	}
	if o.places["tests"].MatchString(p) || fixture.MatchString(p) && !settingFile.MatchString(p) || o.src.except.MatchString(p) && strings.Contains(p, "example") || strings.HasPrefix(p, "/tmp/") || o.src.paths.MatchString(p) {
		return ""
	}
	return holdsKey(a.text, a.old, false)
}

var (
	composed  = express(`(?:compose[\w.-]*|\bdeploy\w*|k8s|kube|manifests?|charts?|pods?|daemonset|devcontainer)[^\n]*\.(?:ya?ml|json)$`)
	ofMachine = express(`(?m)\bprivileged["']?\s*:\s*true|docker\.sock|^\s*-\s*["']?/(?:etc|root|home|proc|sys|dev|var/run|run)?/?:/|\bhostPID["']?\s*:\s*true|\bhostIPC["']?\s*:\s*true|\bpid["']?\s*:\s*["']?host\b|\buserns_mode["']?\s*:\s*["']?host|\bSYS_ADMIN\b|\bSYS_PTRACE\b|(?:seccomp|apparmor)["']?\s*[:=]\s*["']?unconfined|\bhostPath:\s*\n\s*path:\s*["']?/(?:\s|"|'|$|etc|root|proc|var/run)|--privileged|--pid=host`)
)

var settingFile = express(`\.(?:md|txt|json|ya?ml|html|csv|xml)$`)

var (
	buildScript = express(`(?:^|/)(?:build\.rs|setup\.py|conftest\.py|extconf\.rb|binding\.gyp|noxfile\.py|fabfile\.py|tasks\.py|hatch_build\.py|build\.zig|mix\.exs|Rakefile|gulpfile\.\w+|Gruntfile\.js|[\w.-]+\.config\.[mc]?[jt]s|postinstall\.\w+|preinstall\.\w+|install\.js)$`)
	starts      = express(`\b(?:Command::new|subprocess\.(?:run|call|check_call|check_output|Popen|getoutput)|os\.(?:system|popen|exec\w+|spawn\w+)|exec(?:Sync|File|FileSync)?|spawn(?:Sync)?|IO\.popen|Open3\.\w+|Kernel\.system|System\.cmd|session\.run)\s*[( ]\s*([^\n]{0,200})`)
	firstText   = express(`^\[?\s*[rbuf]?["'\x60]([^"'\x60\n]*)["'\x60]`)
	variable    = express(`^\[?\s*[&*]?[a-z_]\w*\s*[,)\]]`)
	byEnv       = express(`^\[?\s*(?:sys\.executable|process\.execPath|env::var|std::env::var|&?(?:rustc|cc|cmake|cargo|python|git|go|node|npm|make|compiler|pkg_config|protoc|clang|gcc|cmd|command|args|argv)\b)`)
	generates   = express(`(?m)^//go:generate\s+(.+)$`)
	buildsNet   = express(`(?i)\b(?:urlopen|urlretrieve|requests\.\w+\(|http\.client|socket\.socket|TcpStream|UdpSocket|reqwest|ureq::|net\.connect|https?\.(?:get|request)\(|\bfetch\(|Net::HTTP|open-uri)`)
	homeOf      = express(`(?i)expanduser|Path\.home|home_dir\(|env::var(?:_os)?\("HOME"\)|os\.homedir|environ\W{1,6}HOME|Dir\.home|env::vars\b|dict\(os\.environ\)|os\.environ\.(?:copy|items)`)
)

// recipe: what runs while the work is built starts programs that are known, and reaches
// for nothing outside.
func (o *ordinary) recipe(a *act, p string) string {
	if a.loose {
		return ""
	}
	for _, m := range generates.FindAllStringSubmatch(a.text, 40) {
		first := firstOf(strings.Fields(m[1]))
		if slices.Contains(shells, first) || commanding.MatchString(m[1]) || first != "" && !o.startable(first) {
			return "the line " + quote(m[0]) + " runs more than a generator"
		}
	}
	if !buildScript.MatchString(p) {
		return ""
	}
	if m := buildsNet.FindString(a.text); m != "" && !buildsNet.MatchString(a.old) && !strings.HasSuffix(p, "conftest.py") {
		return quote(m) + " in " + quote(p) + " reaches for other machines while the work is built"
	}
	if m := homeOf.FindString(a.text); m != "" && !homeOf.MatchString(a.old) && (sending.MatchString(a.text) || starts.MatchString(a.text)) {
		return quote(m) + " in " + quote(p) + " looks into the home folder or the whole environment while the work is built"
	}
	for _, m := range starts.FindAllStringSubmatch(a.text, 40) {
		if strings.Contains(a.old, m[0]) {
			continue
		}
		t := firstText.FindStringSubmatch(m[1])
		switch {
		case t == nil && (!variable.MatchString(m[1]) || byEnv.MatchString(m[1])):
			continue
		case t == nil && strings.HasPrefix(m[0], "Command::new"):
			return "which program " + quote(p) + " runs (" + quote(m[0]) + ") is not written out"
		case t == nil:
			continue
		}
		first := firstOf(strings.Fields(t[1]))
		if first != "" && (commanding.MatchString(m[1]) || !o.startable(first) || slices.Contains(shells, base(first))) {
			return "the program " + quote(t[1]) + " is run while the work is built; use a known one, without a shell"
		}
	}
	return ""
}

// startable says whether a program is known, or one of the work's own.
func (o *ordinary) startable(name string) bool {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || o.own.MatchString(name) || strings.ContainsAny(name, "$%{") {
		return true
	}
	if slices.Contains([]string{"curl", "wget", "nc", "ncat", "socat", "ssh", "scp", "eval", "env", "crontab", "xargs", "nohup", "setsid", "kill", "pkill"}, base(name)) {
		return false
	}
	name = versionless(base(name))
	return o.kinds[name] != "" || o.commands[name] != nil || bareName.MatchString(name)
}

// bareName is a generator of somebody's own.
var bareName = express(`^(?:[a-z][\w-]*(?:gen|mock|c|tool|er|lint|fmt)[\w-]*|stringer|mockery|counterfeiter|moq|ent|gqlgen|easyjson|msgp|statik|packr2?|pkger|vfsgendev|peg|pigeon|ragel|goyacc|enumer)$`)

// linked: a link leads to a place in the work, or in the toolchain.
func linked(a *act) string {
	files := operands(a)
	for i, p := range files {
		if i == len(files)-1 && i > 0 {
			break
		}
		if p = plainMarks(clean(p)); wideRoot.MatchString(p) || closedLink.MatchString(p) {
			return quote(a.line()) + " leads out of the work by a link"
		}
	}
	return ""
}

var closedLink = express(`^(?:/(?:etc|root|home|proc|sys|run|var/run|dev|boot|mnt|media|srv|host)(?:/.*)?|~(?:/\..*)?|(?:\.\./){3,}.*|(?:\.\./)+(?:etc|root|home|proc|usr|var|sys|dev|run)(?:/.*)?)$`)
