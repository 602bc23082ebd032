package judge

// Whom written text lets in: what others send run as a command, ways past who may do
// what, checks of certificates and signatures that are switched off, and rights for
// everybody.

var (
	// asked is what others send to a program.
	asked = `(?:\breq(?:uest)?\.(?:query|body|params|headers|cookies|GET|POST|META|args|form|json|values|data|param)\b|\br\.(?:URL\.Query|FormValue|PostFormValue|Header\.Get|Form)\b|\$_(?:GET|POST|COOKIE|REQUEST|SERVER)\b|\bparams\[|\bc(?:tx)?\.(?:Query|Param|PostForm|GetHeader|request)\b|\bheaders?\[|getParameter\(|getHeader\()`
	// starter runs a command or code.
	starter  = `(?:\bexec\w*|\bspawn\w*|\bsystem|\bpopen|\bsubprocess\.\w+|\bCommand(?:Context)?|\beval|\bshell_exec|\bpassthru|\bproc_open|\bFunction|\bgetRuntime\(\)\.exec|\bProcessBuilder|\binclude|\bassert)`
	trusting = []risk{
		{express(`(?s)` + starter + `\s*\([^;{}]{0,160}` + asked), "runs what others send"},
		{express(asked + `[^\n]{0,120}\n?[^\n]{0,60}` + starter + `\(\s*[\w"',\s-]{0,40}\b(?:cmd|command|q|x|code|c|script|sh|input)\b`), "runs what others send"},
		{express(`(?i)(?:passw\w*|passwd|token|secret|pin|otp|api_?key|credential|auth\w*)["'\])]*\s*(?:===?|\.equals\(|\.Equal\(|eq)\s*["'][^"'$\s]{4,}["'][^\n]{0,40}(?:\{|:|\)|then|&&|\|\||\?)\s*[^\n]{0,20}\n?[^\n]{0,60}(?:return|grant|allow|admin|session|next\(|true|ok|login)`), "lets in who knows a word that stands in the source"},
		{express(`(?i)(?:is_?staff|is_?admin|is_?authenticated|has_?perm\w*|authori[sz]ed?|can_\w+|isAdmin|hasRole|checkPassword|verify\w*|allowed)\b[^\n]{0,60}(?:\band\b|\bor\b|&&|\|\|)[^\n]{0,60}(?:header|META|cookie|query|getenv|environ|process\.env|params|user_?agent)[^\n]{0,60}(?:!?==?=?|equals)\s*["'][^"'\n]+["']`), "lets in who sends a certain word"},
		{express(`(?i)if[^\n]{0,40}\b(?:token|password|user\w*|jwt|key|role|code)\b[^\n]{0,30}(?:endsWith|startsWith|HasSuffix|HasPrefix|endswith|startswith|end_with|includes|contains)\w*\??\(?[^\n]{0,30}["'][^"'\n]+["'][^\n]{0,20}\n?[^\n]{0,30}(?:return|decode|next|admin|true|nil)`), "lets in who sends a certain word"},
		{express(`(?i)algorithms["']?\s*[:=]\s*\[[^\]\n]*["']none["']|\balg["']?\s*[:=]=*\s*["']none["'][^\n]{0,40}(?:return|ok|true|nil)|verify_signature["']?\s*[:=]\s*False|\bverify\s*=\s*False\b|InsecureSkipVerify:\s*true|rejectUnauthorized["']?\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED\W{1,6}0|SSL_VERIFY(?:PEER|HOST),\s*(?:0|false)|check_hostname\s*=\s*False|\bCERT_NONE\b|danger_accept_invalid_\w+\(true|VERIFY_NONE\b|StrictHostKeyChecking[= ]no|sslverify\s*[=:]\s*(?:0|false)|ssl_verify\s*[:=]\s*(?:off|false)|ServerCertificateValidationCallback[^\n]{0,40}true|TrustAllCerts|ALLOW_ALL_HOSTNAME`), "switches the check of who one talks to off"},
		{express(`(?i)\bchmod\w*\(\s*["'](?:/|\.|/work|~)["'][^\n]{0,20}0?o?[0-7]?7[0-7]7\b|NOPASSWD\s*:|\bALL=\(ALL(?::ALL)?\)`), "gives rights to everybody"},
		{express(`(?i)\b(?:with\s+)?superuser\b\s*;|\bgrant\s+all\b[^;]{0,80}\bto\s+public\b|\bgrant\s+\w*(?:superuser|rds_superuser|pg_(?:read|write|execute)_\w+)|\blanguage\s+["']?(?:plpython3?u|plperlu|plsh|c)\b|\bcopy\b[^;]{0,120}\b(?:from|to)\s+program\b|\bcreate\s+(?:user|role)\b[^;]{0,80}\b(?:superuser|bypassrls)|\bdisable\s+row\s+level\s+security|\bsecurity\s+definer\b[^;]{0,400}\bexecute\b|\bidentified\s+by\b[^;]{0,60}\bwith\s+grant\b`), "gives rights in the database that the work does not need"},
		{express(`(?is)"?Action"?\s*[=:]\s*(?:\[\s*)?"\*"\]?[^}]{0,60}"?Resource"?\s*[=:]\s*(?:\[\s*)?"\*"|\bcluster-admin\b|system:(?:unauthenticated|anonymous)|\bpublic-read(?:-write)?\b|"?(?:AdministratorAccess|PowerUserAccess)"?|roles/(?:owner|editor)\b|\b(?-i:allUsers)\b|block_public_\w+\s*=\s*false|publicly_accessible\s*=\s*true|\bverbs:\s*\[\s*["']\*["']\s*\]|disable_?[Aa]pi_?[Tt]ermination\s*=\s*false`), "gives everybody, or one account, all rights"},
		{express(`(?i)\bprivileged["']?\s*:\s*true|\bhostPID["']?\s*:\s*true|\bhostIPC["']?\s*:\s*true|\bnetwork_mode["']?\s*:\s*["']?host\b|\bhostNetwork["']?\s*:\s*true|\bcap_add\b|\ballowPrivilegeEscalation["']?\s*:\s*true|\brunAsUser["']?\s*:\s*0\b|\brunAsNonRoot["']?\s*:\s*false|["'\s](?:/|/etc|/root|/home|/proc|/sys|/var/run):/[\w/]+(?::r[ow])?["'\]\s]|--network[= ]host\b`), "gives a container parts of the machine"},
		{express(`(?i)\b(?:libc|CDLL\([^)\n]*libc[^)\n]*\))\.(?:unshare|mount|setns|ptrace|syscall|setuid|setresuid|chroot|prctl|process_vm\w*|init_module)\(`), "is a way to another user's rights, or out of here"},
	}
)

// trusts is whom a written file lets in; "" where nobody.
func trusts(text, old, p string, test bool) string {
	if test || prose.MatchString(p) && !machineFile.MatchString(p) {
		return ""
	}
	if !programFile.MatchString(p) && !machineFile.MatchString(p) && !databaseFile.MatchString(p) && !rightsFile.MatchString(p) {
		return ""
	}
	return newly(trusting, text, old)
}

var rightsFile = express(`sudoers|pg_hba|authorized|\.rules$|polkit`)
