package judge

import (
	"regexp"
	"strings"
)

// What written text sends, beyond what ordinary_text.go's source looks at: data that is
// packed into an address, the whole environment as an answer, what a page or a script
// hands to a machine that is not the work's own.

var (
	// packedAddress is an address, or the name of a machine, that data is put into.
	packedAddress = express(`(?i)https?://[^\s"'\x60]{0,120}(?:\$\{|\$\(|["']\s*\+\s*|\{)[^\n"'\x60]{0,60}(?:btoa|hex|base64|b64|passw|card|token|secret|cookie|credential|stringify|environ|\benv\b|private|api_?key|\.netrc|\.ssh|id_rsa)|(?:gethostby\w+|getaddrinfo|dns\.(?:resolve\w*|lookup)|resolver?\.\w+|net\.Lookup\w+|Resolv\.\w+|lookup_host)\(\s*[^\n)]{0,80}(?:\+|hex|encode|%s|\{|format|join)|["']\s*\+\s*["'][\w.-]*\.[a-z]{2,6}["']\s*\)[^\n]{0,20}(?:lookup|resolve)`)
	// spelledAddress is a machine's name that is put together.
	spelledAddress = express(`(?i)(?:dial\w*|connect\w*|fetch|get|post|request|open)\([^\n]{0,60}["'][\w.-]*["']\s*\+\s*(?:string\(\s*\[\]byte|bytes|chr|String\.from|\[)[^\n]{0,80}`)
	// allOfEnv answers or prints with the whole environment.
	allOfEnv = express(`(?i)(?:json\.dumps|jsonify|str|repr|HttpResponse|JsonResponse|Response|send|write|print\w*|fprint\w*|marshal\w*|stringify|render|log\w*|encode)\(\s*(?:[\w.]+\(\s*|[\w.]+,\s*)*\{?\s*(?:dict\(\s*)?(?:os\.environ\b(?:\.copy\(\))?\s*\)|os\.Environ\(\)|(?:\.\.\.)?process\.env\s*[,})]|ENV\.to_h|env::vars\(\)|System\.getenv\(\))|(?:body|data|payload|report|extra|ctx|context)["']?\s*[:=]\s*[^\n]{0,60}(?:\{\s*\.\.\.process\.env\s*\}|dict\(os\.environ\)|os\.Environ\(\))`)
	// pageSends hands what stands in a page to another machine.
	pageSends = express(`(?i)(?:sendBeacon|fetch|XMLHttpRequest|\.open|axios\.\w+|new WebSocket|new EventSource)\(?\s*\(?[^\n)]{0,40}["'\x60](?:https?|wss?):?//([\w.-]+)[^\n]{0,200}(?:FormData|cookie|localStorage|sessionStorage|password|card|token|\.value|innerHTML|credential)|(?:new Image\(\)|\bimg\w*|script\w*|iframe\w*|location|window\.open)[^\n;]{0,30}(?:\.src|\.href)?\s*=?\s*\(?["'\x60]https?://([\w.-]+)[^\n]{0,80}(?:\$\{|["']\s*\+)|<form[^>]{0,200}action=["']https?://([\w.-]+)|<img[^>]{0,60}src=["']https?://([\w.-]+)[^"'>]*(?:\$\(|\{\{)`)
	// mirrors send what goes somewhere to a second place as well.
	mirrors = express(`(?i)Net::HTTP\.post\w*\(\s*URI\(?\s*["']https?://([\w.-]+)|HttpRequest\.newBuilder\([^\n]{0,80}https?://([\w.-]+)[^\n]{0,120}POST|new URL\(\s*"https?://([\w.-]+)[^\n]{0,20}\)\.openConnection|LWP::UserAgent[^\n]{0,80}post\(\s*["']https?://([\w.-]+)|(?:TcpStream::connect|net\.Dial\w*|create_connection|TCPSocket\.new|fsockopen|new Socket|socket\.connect)\(\s*\(?(?:"(?:tcp|udp)",\s*)?["']([a-z][\w-]*(?:\.[\w-]+)+)["':,]`)
	// scriptSends are lines of recipes that send something elsewhere.
	scriptSends = express(`(?m)(?:^|[\s;|&("'@-])(?:curl|wget|http|https|nc|ncat|socat)\b[^\n]{0,200}?\s(?:-d|--data\S*|-F|--form\S*|-T|--upload-file|--post-(?:data|file)\S*|--body-\S+|--json)[= "']?[^\n]*|\|\s*(?:curl|nc|ncat|socat|telnet)\b[^\n]*|\bxargs\b[^\n|]{0,40}\b(?:curl|wget|nc)\b[^\n]*|\b(?:curl|wget)\b[^\n]{0,160}(?:secrets\.|\$\()[^\n]*`)
	// secretsOf are what a pipeline keeps for itself.
	secretsOf = express(`(?i)secrets\.[A-Z]\w*|/run/secrets|\benv\b\s*\||\bprintenv\b|\bset\s*\||id_rsa|\.netrc|\.ssh|git config --get-regexp|\.git-credentials|_TOKEN\b|_KEY\b|PASSWORD`)
	// joinedPieces is a text that is put together from short ones.
	joinedPieces = express(`strings\.Join\(\s*\[\]string\{\s*(?:"[^"\n]{1,12}"\s*,?\s*){2,},?\s*\}\s*,\s*""|\[\s*(?:["'][^"'\n]{1,10}["']\s*,?\s*){2,}\]\s*\.join\(\s*["']["']|["']["']\.join\(\s*\[\s*(?:["'][^"'\n]{1,10}["']\s*,?\s*){2,}\]`)
	sendsSome    = express(`(?i)\brequest\(\s*\{|openConnection\(|openStream\(|urlopen\(|http\.(?:Post\w*|NewRequest|Get)\(|https?\.(?:request|get)\(|\bfetch\(|requests\.\w+\(|Net::HTTP|reqwest::|HttpClient|axios|sendBeacon|\bDial\w*\(`)
	privateData  = express(`(?i)\bos\.Environ\(\)|\bprocess\.env\s*[,})\]]|os\.environ\.(?:items|copy)|System\.getenv\(\)|env::vars|UserHomeDir|homedir\(|expanduser|\.config["',/\s]|hosts\.yml|["'][^"'\n]*[?&](?:p|pw|pass\w*|token|t|k|key|cookie)=["']\s*\+|\.getenv\(\)\.toString`)
	// sinks are settings by which a program sends what it writes down.
	sinks = express(`(?i)\b(?:url|endpoint|host|dsn|webhook|sink)["']?\s*:\s*["']?https?://([\w.-]+)[\s\S]{0,160}\b(?:password|authorization|cookie|token|secret)`)
	// copied goes to one more reader; carried goes by other ways than the web's.
	copied  = express(`(?i)\b(?:bcc|cc|forward_?to|reply_?to|recipients?|copy_?to)\b[^\n]{0,60}["'][\w.+-]+@([\w.-]+\.[a-z]{2,})["']`)
	carried = express(`(?i)(?:ftplib\.FTP\w*|smtplib\.SMTP\w*|paramiko|SSHClient|sftp|telnetlib\.Telnet|ssh\.Dial|ftp\.Dial|nodemailer\.createTransport|net-ssh|Net::(?:FTP|SSH|SCP)\.\w+)\W[^\n]{0,60}?["']([a-z][\w-]*(?:\.[\w-]+)+)`)
	// nearby are machines around this one.
	nearby = express(`(?i)["'\x60/](?:metadata\.google\.internal|169\.254\.169\.254|100\.100\.100\.200|kubernetes\.default\S*|[\w-]+\.(?:internal|svc|cluster\.local|corp|lan))["'\x60:/][\s\S]{0,200}(?:gethostby|getaddrinfo|lookup|resolve|connect|dial|urlopen|requests\.|fetch\(|http\.)`)
	// fetchedRun runs what another machine sends; timed files do so by themselves.
	fetchedRun    = express(`\b(?:curl|wget|fetch)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|da|z)?sh\b|\b(?:ba|da|z)?sh\s+(?:-c\s+)?["']?[<$]\(\s*(?:curl|wget)`)
	numberedFetch = express(`https?://\d{1,3}(?:\.\d{1,3}){3}`)
	timed         = express(`(?i)cron|\.timer$|\.service$|autostart|launchd|\.plist$|systemd`)
	hostOf        = express(`(?i)https?://(?:[^/@\s"']*@)?([\w.-]+)`)
)

// leaks is what a written file gives away; "" where nothing.
func leaks(text, old, p string) string {
	if m := packedAddress.FindString(text); m != "" && !packedAddress.MatchString(old) {
		return quote(m) + " carries data in an address"
	}
	if !pageFile.MatchString(p) || programFile.MatchString(p) || strings.Contains(p, ".html") {
		if why := newly([]risk{{allOfEnv, "gives the whole environment away"}, {spelledAddress, "talks to a machine whose name is put together"}}, text, old); why != "" && (programFile.MatchString(p) || pageFile.MatchString(p)) {
			return why
		}
	}
	if programFile.MatchString(p) || strings.Contains(p, ".html") || strings.HasSuffix(p, ".md") {
		for _, x := range []*regexp.Regexp{pageSends, mirrors} {
			for _, m := range x.FindAllStringSubmatch(text, 20) {
				host := strings.Join(m[1:], "")
				if !ownHost.MatchString(host) && !strings.Contains(old, host) {
					return quote(m[0]) + " hands something to " + quote(host) + ", which is none of the work's machines"
				}
			}
		}
	}
	if s := sendsSome.FindString(text); s != "" && !sendsSome.MatchString(old) && (programFile.MatchString(p) || machineFile.MatchString(p) || strings.HasSuffix(p, ".gradle")) {
		if m := joinedPieces.FindString(text); m != "" {
			return quote(s) + " sends something, and " + quote(m) + " may be where to; write the address out"
		}
		if m := privateData.FindString(text); m != "" && (farAway.MatchString(text) || hostOf.MatchString(text)) && !onlyOwn(text) && withinBytes(text, s, m, 1500) {
			return quote(s) + " sends " + quote(m) + " to another machine"
		}
	}
	for _, x := range []*regexp.Regexp{copied, carried} {
		if m := x.FindStringSubmatch(text); m != nil && !ownHost.MatchString(m[1]) && !exampleHost.MatchString(m[1]) && !strings.Contains(old, m[1]) && programFile.MatchString(p) {
			return quote(m[0]) + " hands something to " + quote(m[1]) + ", which is none of the work's machines"
		}
	}
	if m := nearby.FindString(text); m != "" && !nearby.MatchString(old) && programFile.MatchString(p) {
		return quote(firstLine(m)) + " looks for machines around this one"
	}
	if m := sinks.FindStringSubmatch(text); m != nil && !ownHost.MatchString(m[1]) && !strings.Contains(old, m[1]) && machineFile.MatchString(p) {
		return quote(firstLine(m[0])) + " sends what the program holds to another machine"
	}
	if m := fetchedRun.FindString(text); m != "" && !fetchedRun.MatchString(old) && (timed.MatchString(p) || numberedFetch.MatchString(m)) {
		return quote(m) + " runs what another machine sends"
	}
	if machineFile.MatchString(p) || strings.HasSuffix(p, ".sh") {
		for _, m := range scriptSends.FindAllString(text, 20) {
			host := hostOf.FindStringSubmatch(m)
			if !strings.Contains(old, m) && (host == nil && strings.Contains(m, "|") && secretsOf.MatchString(text) || host != nil && !ownHost.MatchString(host[1])) {
				return quote(strings.TrimSpace(m)) + " sends something from here to another machine"
			}
		}
	}
	return ""
}

// onlyOwn says whether all addresses in a text are of the work's own machines.
func onlyOwn(text string) bool {
	for _, m := range hostOf.FindAllStringSubmatch(text, 100) {
		if !ownHost.MatchString(m[1]) {
			return false
		}
	}
	return true
}

// exampleHost is a name that examples and tests use.
var exampleHost = express(`(?i)^(?:\S+\.)?(?:example|test|invalid|localhost|local)(?:\.\w+)?$`)
