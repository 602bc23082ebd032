package judge

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A tongue is a language of one-line programs: what in its code is more than reading,
// reckoning and writing files. What a language can do to the machine is a closed list:
// its own library's, and the well-known ways to a network.
type tongue struct {
	// never is not let through, whatever it is given.
	never *regexp.Regexp
	// network is let through where all addresses in the code are this machine.
	network *regexp.Regexp
	// runs starts programs; literal is a start of one whose command stands there and has
	// been read.
	runs, literal *regexp.Regexp
}

func express(s string) *regexp.Regexp { return regexp.MustCompile(s) }

var literalArgument = express(`^\s*\(?\s*\[?\s*(?:[rbuf]?["'` + "`" + `])`)

var tongues = map[string]*tongue{
	"python": {
		never:   express(`\b(?:exec|eval|compile|__import__|globals|locals|vars|breakpoint|memoryview)\s*\(|__builtins__|__globals__|__subclasses__|__class__|__mro__|__getattribute__|__loader__|__dict__|\bgetattr\s*\(\s*(?:os|sys|subprocess|builtins|shutil|importlib|__\w+|globals)|\b(?:import|from)\s+(?:[\w., ]*,\s*)?(?:ctypes|cffi|pty|spwd|crypt|fcntl|termios|marshal|dis|code|codeop|runpy|site|gc|keyring|paramiko|pexpect|fabric|scapy|pynput|mss|psutil|curses|syslog|_\w+|webbrowser|imp|zipimport|pickletools|nis|pwd|grp|resource|mmap|builtins|win32\w*|winreg|dbus|systemd|pyautogui|cryptography\.fernet)\b|\bos\.(?:exec\w*|spawn\w*|posix_spawn\w*|fork\w*|kill\w*|set(?:e?[ug]id|res[ug]id|re[ug]id|groups|ns|pgid|sid|xattr|priority)|chroot|mknod|makedev|mkfifo|dup2?|pipe2?|putenv|unsetenv|startfile|chown|lchown|pidfd\w*|unshare|memfd_create|sched_\w+|initgroups|open|sendfile|environb|link|symlink|fdopen|openpty|login_tty|ptsname|nice|abort|_\w+)\s*\(|\bsignal\.(?:pthread_kill|pidfd)|\bsys\.(?:settrace|setprofile|_\w+|modules|meta_path|path_hooks)|\bpickle\.loads?\b|\bshutil\.(?:chown|disk_usage)\b|\bimportlib\.(?:reload|util|machinery)|\bcodecs\.(?:decode|encode|getdecoder|open)|rot_?13|\bmultiprocessing\b|\bthreading\b[\s\S]*while\s+(?:True|1)`),
		network: express(`\b(?:import|from)\s+(?:[\w., ]*,\s*)?(?:socket|ssl|select|selectors|asyncio|asyncore|socketserver|urllib|urllib2|urllib3|http|httplib|requests|httpx|aiohttp|ftplib|smtplib|smtpd|poplib|imaplib|nntplib|telnetlib|xmlrpc|websockets?|pycurl|tornado|twisted|boto3?|botocore|google|azure|redis|pymongo|psycopg2?|mysql|kafka|pika|nats|grpc|dns|ldap3?|slack_sdk|telegram|discord|tweepy|github|gitlab|jira)\b|urlopen|urlretrieve|create_connection|getaddrinfo|gethostby`),
		runs:    express(`\bos\.(?:system|popen)|\bsubprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|\b(?:run|Popen|check_output|check_call|call|system|popen)\s*\(`),
		literal: express(`\s*\(\s*\[?\s*(?:sys\.executable\s*,\s*)?[rbuf]?["']`),
	},
	"node": {
		never:   express(`\beval\s*\(|\bFunction\s*\(|\bnew\s+Function\b|constructor\s*\.\s*constructor|\[\s*["']constructor|\bprocess\s*\.\s*(?:binding|dlopen|kill|set\w*id|setgroups|chdir|_\w+|mainModule|getBuiltinModule)|\bprocess\s*\[|require\s*\(\s*(?:["'](?:node:)?(?:vm|inspector|cluster|worker_threads|repl|v8|module|async_hooks|wasi|trace_events)["']|[^"'\s)])|require\s*\(\s*["'][^"']*["']\s*\+|require\s*\([^)]*\)\s*\[|\bimport\s*\(\s*[^"'\s)]|globalThis\s*\[|global\s*\[|Reflect\.|\bvm\.\w|String\.fromC|Buffer\.from\([^)]*(?:base64|hex)|\batob\s*\(|\bunescape\s*\(|module\.constructor|\.chown|\.symlink|\bfs\s*\[`),
		network: express(`require\s*\(\s*["'](?:node:)?(?:net|http|https|http2|dgram|dns|dns/promises|tls|undici|axios|node-fetch|got|request|superagent|ws|socket\.io\S*|nodemailer|ssh2|ftp|aws-sdk|@aws-sdk/\S*)["']|\bfrom\s+["'](?:node:)?(?:net|http|https|http2|dgram|dns|tls|undici|axios|node-fetch|got|ws|nodemailer)["']|import\s*\(\s*["'](?:node:)?(?:net|http|https|http2|dgram|dns|tls|undici|axios|node-fetch|got|ws)["']|\bfetch\s*\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|Deno\.(?:connect|listen)|Bun\.(?:serve|connect)`),
		runs:    express(`\b(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|fork|Bun\.spawn|Deno\.Command|\$)\s*\(`),
		literal: express(`\s*\(\s*(?:["'` + "`" + `]|process\.execPath)`),
	},
	"perl": {
		never:   express(`\beval\s*(?:["'$(]|q|pack)|\b(?:syscall|fork|kill|chroot|setpgrp|setpriority|ioctl|fcntl|dump|sysopen|chown|symlink|link|mknod|mkfifo)\b\s*[("'$\w]|\$[<>()]\s*=|\bPOSIX::\w*(?:set|fork|exec|kill|dup)|\bpack\s*\(?\s*["']|\bunpack\s*\(?\s*["'](?:u|H|h|m)|\brequire\s+[$"']|\bdo\s+[$"']|\bexec\b|s(?:[/{|!,]).*[/}|!,]\w*ee\w*|\bDynaLoader|\bXSLoader|Inline::|MIME::Base64|\bchr\s*\(`),
		network: express(`\bsocket\b|IO::Socket|Net::|LWP|HTTP::|Socket\b|Mojo::UserAgent|WWW::|Mail::|\bconnect\b|\bSSH\b`),
		runs:    express(`\bsystem\b|\bqx\b|` + "`" + `|\bopen\s*\(?[^;]*["']?\s*(?:\|-?|-\|)|\bopen3\b|\bopen2\b`),
		literal: express(`\s*(?:\(\s*)?["'{/]`),
	},
	"ruby": {
		never:   express(`%w\S[^)\]}]*[)\]}]\s*\.join|\b(?:instance_eval|class_eval|module_eval|instance_exec|binding|eval|fork|syscall|trap|abort_on|public_send|__send__|send|define_method|const_get|load|require_relative\s+\S*\.\.)\s*[\s("':]|Kernel\.\w+|Process\.(?:kill|setuid|uid|euid|gid|daemon|detach|spawn|exec)|ObjectSpace|Fiddle|DL::|Marshal|\.unpack1?\b|\.pack\b|Base64|\bexec\b|\bat_exit|File\.(?:chown|symlink|link|mkfifo)|FileUtils\.(?:chown|chmod_R|ln)`),
		network: express(`open-uri|net/|socket|Socket|Net::|TCP|UDP|UNIXS|HTTP|URI\.open|Faraday|HTTParty|RestClient|Excon|Resolv|Mail\b|Typhoeus|websocket`),
		runs:    express(`\bsystem\b|` + "`" + `|%x|\bspawn\b|IO\.popen|\bpopen\b|Open3|PTY`),
		literal: express(`\s*(?:\(\s*)?\[?\s*["'{\[(]`),
	},
	"php": {
		never:   express(`(?i)\beval\s*\(|\bassert\s*\(|create_function|\bcall_user_func|\b(?:pcntl_\w+|posix_\w+|proc_open|popen|dl|mail|putenv|ini_set|chown|chgrp|symlink|link|base64_decode|str_rot13|strrev|hex2bin|gzinflate|gzuncompress|unserialize|extract|parse_str|preg_replace_callback|array_map\s*\(\s*["']|usort|register_shutdown_function|phpinfo|getenv\s*\(\s*\))\s*\(?|\$\w+\s*\(|\$\{|` + "`" + `|\b(?:include|require)(?:_once)?\s*\(?\s*(?:\$|["'](?:https?|php|data|/))`),
		network: express(`(?i)fsockopen|pfsockopen|stream_socket|socket_\w+|curl_\w+|https?://|ftp_\w+|ftps?://|SoapClient|dns_get|gethostby|mysqli?_|PDO`),
		runs:    express(`(?i)\b(?:system|exec|shell_exec|passthru)\b`),
		literal: express(`\s*\(\s*["']`),
	},
	"lua": {
		never:   express(`\bload(?:string|file)?\s*\(|\bdofile|package\.loadlib|debug\.\w|string\.char|\bsetfenv|\bgetfenv|\bffi\b|string\.reverse|\brawset|_G\s*\[|_ENV`),
		network: express(`socket|luasec|http\b|curl`),
		runs:    express(`os\.execute|io\.popen`),
		literal: express(`\s*\(\s*["'\[]`),
	},
	"awk": {
		never:   express(`/inet|ENVIRON\s*\)|for\s*\(\s*\w+\s+in\s+ENVIRON|system\s*\(\s*[^")]|system\s*\([^)\n]*ENVIRON|sprintf\s*\(\s*"(?:%c){2,}|@load|@include|-l\s*ext|(?:^|[^"\w])\w+\s*\)?\s*\|\s*getline`),
		runs:    express(`\bsystem\s*\(|\|\s*getline|"\s*\|\s*getline|print[^;}\n|]*\|\s*[^|]`),
		literal: express(`\s*"|^[^"]*$`),
	},
}

var tongueOf = map[string]string{"pypy": "python", "ipython": "python", "nodejs": "node", "bun": "node", "deno": "node", "luajit": "lua", "gawk": "awk", "mawk": "awk", "nawk": "awk", "tsx": "node", "ts-node": "node"}

// language: code in an argument, or in a file that this command wrote, does nothing but
// what can be read off it.
func (o *ordinary) language(a *act) string {
	if a.code == "" {
		return ""
	}
	name := versionless(a.program)
	if other, ok := tongueOf[name]; ok {
		name = other
	}
	t, ok := tongues[name]
	switch name {
	case "sed", "gsed", "vim", "ed", "gdb":
		return ""
	case "osascript", "tclsh", "Rscript", "groovy", "pwsh":
		if regexp.MustCompile(`(?i)\b(exec|system|shell|socket|http|invoke|download|runtime|process|eval|iex)`).MatchString(a.code) {
			return "the code may run programs or reach other machines"
		}
		return ""
	}
	if !ok {
		return o.compiled(a)
	}
	why := o.spokenStrange(t, a.code)
	if why != "" {
		return why
	}
	return o.named(a.code)
}

func (o *ordinary) spokenStrange(t *tongue, code string) string {
	if m := t.never.FindString(code); m != "" {
		return "the code uses " + quote(strings.TrimSpace(m)) + "; say in plain commands what it should do"
	}
	if t.network != nil {
		if m := t.network.FindString(code); m != "" && !localCode(code) {
			return "the code talks to other machines (" + quote(strings.TrimSpace(m)) + "); there is no network here"
		}
	}
	for _, at := range t.runs.FindAllStringIndex(code, 40) {
		head := strings.TrimRight(code[at[0]:at[1]], "( \t")
		if rest := code[at[0]+len(head):]; !t.literal.MatchString(firstLine(rest)) || assembled.MatchString(firstLine(rest)) {
			return "which program the code runs (" + quote(head) + ") is not written out"
		}
	}
	return ""
}

// assembled is a command that is put together from pieces.
var assembled = regexp.MustCompile(`^[^;\n]{0,120}["']\s*(?:\+|\.\.|\.|~|%|<<|\\)\s*["'(]|^[^;\n]{0,80}\.(?:join|format|replace|decode|reverse)\s*\(`)

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 400)]
}

// removals are calls that delete files; what they delete has to stand there.
var (
	removals    = regexp.MustCompile(`\b(?:unlink|unlinkSync|remove|removedirs|rmtree|rmdir|rmSync|rmdirSync|rm|rimraf|remove_tree|rm_rf|rm_r|rm_f|delete|truncate|removeSync|emptyDirSync|RemoveAll)\s*\(?\s*([^\n;]{0,60})`)
	removesHere = regexp.MustCompile(`\b(?:os\.(?:unlink|remove|removedirs|rmdir|truncate)|shutil\.rmtree|\.unlink\(|\.rmdir\(|fs\.(?:rm|unlink|rmdir|truncate)\w*|unlinkSync|rmSync|rimraf|remove_tree|rmtree|FileUtils\.rm\w*|File\.(?:delete|unlink|truncate)|Dir\.(?:rmdir|delete)|os\.RemoveAll|unlink\s*[($"']|unlink\s+(?:glob|<|grep|map|@))`)
	one         = regexp.MustCompile(`^["']([^"'*?]+)["']`)
)

func (o *ordinary) removed(code string) string {
	if !removesHere.MatchString(code) {
		return ""
	}
	for _, m := range removals.FindAllStringSubmatch(code, 40) {
		lit := one.FindStringSubmatch(m[1])
		if lit == nil || o.whole.MatchString(clean(lit[1])) || testFolder.MatchString(clean(lit[1])) || o.written(lit[1]) != "" {
			return "which files the code deletes is not written out, or they are more than a part of the work"
		}
	}
	return ""
}

func localCode(code string) bool {
	found := addresses.FindAllStringSubmatch(code, -1)
	hostsToo := localName.MatchString(code)
	return (len(found) > 0 || hostsToo) && !outHost.MatchString(code) && !slices.ContainsFunc(found, func(m []string) bool {
		return m[1] != "localhost" && m[1] != "[" && !strings.HasPrefix(m[1], "127.")
	})
}

var (
	localName = regexp.MustCompile(`["'](?:localhost|127\.0\.0\.1|::1|0\.0\.0\.0)["']`)
	outHost   = regexp.MustCompile(`["'](?:\d{1,3}(?:\.\d{1,3}){3}|(?:[\w-]+\.)+(?:com|net|org|io|dev|app|xyz|info|example|internal|ru|cn|kr|me|co|site|sh|test))["':/]`)
)

// named: files and variables that the code names are those of ordinary work.
func (o *ordinary) named(code string) string {
	for _, m := range textIn.FindAllStringSubmatch(code, 400) {
		p := m[1]
		if !looksLikePath(p) || strings.HasPrefix(p, "//") || strings.HasPrefix(p, "~=") || strings.ContainsAny(p, "\\^$()|<>{}\"") || len(p) < 3 {
			continue
		}
		if why := o.seen(p); why != "" && !strings.HasPrefix(p, "..") && !route.MatchString(p) {
			return "the code names a file outside the work: " + quote(p)
		}
	}
	if why := o.removed(code); why != "" {
		return why
	}
	if m := homeIn.FindString(code); m != "" {
		return "the code looks into the home folder (" + quote(m) + ")"
	}
	for _, m := range environmentIn.FindAllStringSubmatch(code, 50) {
		name := m[1] + m[2] + m[3]
		if name == "" {
			return "the code takes the whole environment"
		}
		if o.src.variables.MatchString(name) {
			return "the code reads the variable " + quote(name) + ", which may hold a key or a password"
		}
	}
	return ""
}

var (
	textIn        = regexp.MustCompile(`["'` + "`" + `]([^"'` + "`" + `\n]{2,300})["'` + "`" + `]`)
	route         = regexp.MustCompile(`^/(api|v\d|users?|health\w*|login|static|assets|metrics|items?|posts?|search|index|auth|graphql|ws|version|status|ping|echo|hello|favicon\.ico|test|docs?|admin|products?|orders?|todos?|upload|download)\b[\w/:.?=&-]*$`)
	homeIn        = regexp.MustCompile(`Path\.home\(\)|expanduser\(\s*["']~["']|os\.homedir\(\)|\bENV\{?\[?["']?HOME\b|Dir\.home|process\.env\.HOME|environ(?:\.get)?[\[(]["']HOME|getenv\(["']HOME|home_dir\(\)|UserHomeDir|Path\(["']/["']\)`)
	environmentIn = regexp.MustCompile(`\bos\.environ\b(?:\.get\(?\s*\\?["'](\w+)\\?["']|\[\s*["'](\w+)["']|\s*\.\s*(?:setdefault|pop|update)\s*\()?|\bprocess\.env\b(?:\.(\w+))?|\bENV\.(?:to_a|to_h|each|select|map|values|inspect)\b|\bJSON\.\w+\(\s*(?:process\.env|ENV)\b|%ENV\b|os\.Environ\(\)|env::vars`)
)

// compiled: source that is compiled and run in the same command.
func (o *ordinary) compiled(a *act) string {
	if m := compiledRisks.FindString(a.code); m != "" && !localCode(a.code) {
		return "the program uses " + quote(m) + "; put it into the repository and run it from there"
	}
	return o.named(a.code)
}

var compiledRisks = regexp.MustCompile(`"(?:net|net/http|net/smtp|net/rpc|syscall|unsafe|os/exec|os/user|plugin|os/signal|golang\.org/x/sys/unix)"|\bhttp\.(?:Post|Get|NewRequest)|\bnet\.Dial|\bexec\.Command|std::(?:net|process)|\bTcpStream|\breqwest|\bureq|\b[sS]et(?:res|re|e)?[ug]id\b|\bptrace\b|\bunshare\b|\bsetns\b|\bdlopen\b|\bexecve?\w*\b|\bsystem\s*\(|\bpopen\s*\(|\bsocket\s*\(|\bfork\s*\(|\bmount\s*\(|#include\s*<(?:sys/(?:socket|ptrace|mount|prctl|syscall)|linux/|netinet/|arpa/|sched\.h)|Runtime\.getRuntime|ProcessBuilder|java\.net`)

// unreadable: letters that are not what they look like, or that turn a line round.
func unreadable(text string) string {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsMark(c)
	}) {
		latin, other := false, false
		for _, c := range word {
			latin = latin || unicode.Is(unicode.Latin, c)
			other = other || unicode.Is(unicode.Cyrillic, c) || unicode.Is(unicode.Greek, c) && len(word) > 4 || unicode.Is(unicode.Armenian, c) || unicode.Is(unicode.Cherokee, c) || c >= 0xFF01 && c <= 0xFF5E
		}
		if latin && other && len(word) > 2 || strings.ContainsFunc(word, func(c rune) bool { return c >= 0xFF01 && c <= 0xFF5E || c >= 0x1D400 && c <= 0x1D7FF }) {
			return "the word " + quote(word) + " mixes letters that look alike"
		}
	}
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' || c == 0x7f {
			return "it holds control characters"
		}
	}
	return unseen(text)
}

// unseen: letters that nobody sees, or that turn a line round.
func unseen(text string) string {
	for _, c := range text {
		if c >= 0x202A && c <= 0x202E || c >= 0x2066 && c <= 0x2069 || c >= 0x200B && c <= 0x200C || c >= 0x200E && c <= 0x200F || c == 0x2060 || c >= 0xE0000 && c <= 0xE007F || c == 0x180E || c == 0x3164 {
			return "it holds letters that cannot be seen"
		}
	}
	return ""
}
