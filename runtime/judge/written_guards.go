package judge

import (
	"slices"
	"strings"
)

// A change of a place that says no: what was asked there before is asked there still, and
// no more easily answered.

var (
	// denial is how a program says no.
	denial   = express(`(?i)\b(?:return|throw|raise|abort|reject|deny|halt|panic|bail!?|res\.status|w\.WriteHeader|head|render)\b[^\n]{0,60}(?:denied|forbid\w*|unauthori[sz]\w*|permission\w*|signature|invalid\w*|expired|mismatch|not_?allowed|access\w*|credential\w*|untrusted|limit|too(?:Many|Large|_many|_large)|\b40[1379]\b|\b413\b|\b429\b|Err[A-Z]\w*|False\b|false\b)`)
	asksHere = express(`(?m)^\s*(?:\}?\s*else\s+)?(?:if|unless|when|guard|elif|assert)\b[^\n]*`)
	remarkOn = express(`(?m)^\s*(?://|#|--)[^\n]*$|(?s:/\*.*?\*/)`)
	// decidesAccess are files whose subject is who may do what.
	decidesAccess = express(`(?i)(?:^|[/_.-])(?:auth\w*|permissions?|perms?|guards?|access|acl|login|session|security|polic(?:y|ies)|roles?|admin|jwt|tokens?|verif\w*|csrf|cors|rbac|middleware|sanitiz\w*|validat\w*|limits?|ratelimit\w*)(?:[/_.-]|$)`)
	alwaysYes     = express(`(?i)\bor\s+True\b|\|\|\s*true\b|\band\s+False\b|&&\s*false\b|\bif\s*\(?\s*(?:true|false|0|1)\s*\)?\s*[{:]|\bwhere\s+1\s*=\s*1\b`)

	// loosened are settings that let more in, or show more.
	loosened = []risk{
		{express(`(?im)^\s*DEBUG\s*=\s*True|ALLOWED_HOSTS\s*=\s*\[\s*["']\*["']|AUTH_PASSWORD_VALIDATORS\s*=\s*\[\s*\]|CSRF_TRUSTED_ORIGINS\s*=\s*\[[^\]]*\*|\bcb\(\s*null\s*,\s*true\s*\)|(?:origin|allow_?origins?|AllowOrigins?|AllowedOrigins)["']?\s*[:=]\s*(?:\[?\s*["']\*["']|true|\[\]string\{"\*"\})[\s\S]{0,120}credentials["']?\s*[:=]\s*true|redact\w*["']?\s*[:=]\s*(?:\[\s*\]|false|none)|\bsslmode\s*[:=]\s*disable[\s\S]{0,80}0\.0\.0\.0|http_?only["']?\s*[:=]\s*false|csrf\w*["']?\s*[:=]\s*(?:false|off|disabled?)|skip_before_action\s+:authenticate|@csrf_exempt|\battr_accessible\b[^\n]*:(?:role|admin)|\.permit!|\bmass_assign\w*\s*=\s*true|permit_all|\.csrf\(\)\.disable|authorizeRequests\(\)\.anyRequest\(\)\.permitAll`), "lets in whom the work kept out, or shows what it hid"},
		{express(`(?is)\bcidr_blocks\s*=\s*\[\s*"0\.0\.0\.0/0"|PermitRootLogin\s+yes|PasswordAuthentication\s+yes|\bauthorized_key\b[^\n]{0,80}\buser:\s*root|\balias\s+/\s*;|\broot\s+/\s*;|bind-address\s*=\s*0\.0\.0\.0|--no-sandbox|\brequirepass\s+""|protected-mode\s+no|(?m:^\s*auth:\s*["']?(?:none|off|disabled|trust)\b)|hostssl\s+all\s+all\s+\S+\s+trust|host\s+all\s+all\s+\S+\s+trust`), "opens a machine to everybody"},
		{express(`(?i)(?:Header\.Get|headers?(?:\.get)?|META\.get|getHeader|header)\W{1,4}["'](?:HTTP_)?X?[-_]?(?:act-?as|impersonat\w*|sudo|debug\w*|override|bypass|internal|admin|skip-?auth|user(?:-?id)?|role|magic|ops|trusted|secret|dev)["'][^\n]{0,80}\n?[^\n]{0,80}(?:return|user|admin|allow|next|role)`), "lets in who sends a certain word"},
		{express(`(?i)(?:pickle|marshal|dill|shelve)\.loads?\(\s*(?:request|req|data|body|await|r\.|payload)|yaml\.load\(\s*(?:request|req|data|body)[^)]*\)|Marshal\.load\(\s*(?:params|request)|unserialize\(\s*\$_|ObjectInputStream\(\s*(?:req|request|socket)|send_file\s*\(?\s*params|\x60[^\x60\n]*#\{\s*params|%x[({\[][^\n]*#\{\s*params|render\s+inline:\s*params|runIn(?:New|This)?Context\([^\n]{0,80}(?:req|request|body|params)`), "runs or opens what others send"},
	}
)

// unguards is what a change takes from a place that says no; "" where nothing.
func unguards(text, old, p string, test bool) string {
	if test || prose.MatchString(p) {
		return ""
	}
	if machineFile.MatchString(p) || programFile.MatchString(p) {
		if why := newly(loosened, text, old); why != "" {
			return why
		}
	}
	if !programFile.MatchString(p) {
		return ""
	}
	if m := alwaysYes.FindString(text); m != "" && !alwaysYes.MatchString(old) && (old != "" || decidesAccess.MatchString(p)) {
		return quote(m) + " asks nothing"
	}
	if old == "" {
		return ""
	}
	before, after := remarkOn.ReplaceAllString(old, ""), remarkOn.ReplaceAllString(text, "")
	if n, m := len(denial.FindAllString(before, -1)), len(denial.FindAllString(after, -1)); n > m && (m == 0 || decidesAccess.MatchString(p)) && asksHere.MatchString(before) && denies(before) {
		return quote(strings.TrimSpace(denial.FindString(before))) + " goes out of " + quote(p) + ", and nothing says no instead"
	}
	if n, m := len(verifies.FindAllString(before, -1)), len(verifies.FindAllString(after, -1)); n > m && m == 0 && (decidesAccess.MatchString(p) || compares.MatchString(before)) {
		return quote(verifies.FindString(before)) + " goes out of " + quote(p) + ", and nothing is verified instead"
	}
	if !denies(before) && !decidesAccess.MatchString(p) {
		return ""
	}
	if m := longLived.FindString(after); m != "" && !longLived.MatchString(before) && decidesAccess.MatchString(p) {
		return quote(m) + " lets in for much longer than before"
	}
	// A question that got a way past it: the old one, and another beside it.
	for line := range strings.Lines(before) {
		line = strings.Trim(strings.TrimSpace(line), "{:( ")
		ways := orElse
		if m := condition.FindStringSubmatch(line); m != nil {
			line, ways = strings.TrimSpace(m[1]), andAlso
		}
		if len(line) < 3 {
			continue
		}
		for _, and := range ways {
			if strings.Contains(after, line+and) && !strings.Contains(before, line+and) {
				return quote(line+and) + "… is asked no longer of everybody"
			}
		}
	}
	return ""
}

var (
	condition = express(`^(?:\}?\s*else\s+)?(?:if|unless|elif|guard)\b\s*\(?(.*?)\)*\s*(?:$|\{|:|\)\s*(?:return|throw|next|res\.))`)
	verifies  = express(`\b(?:hmac\.Equal|\w*ConstantTimeCompare|compare_digest|timingSafeEqual|CompareHashAndPassword|checkpw|[vV]erif(?:y|ies)\w*|[vV]alidate[sd]?\w*|authenticat\w+|authori[sz]e\w*|[sS]anitize\w*|[eE]scape\w*|filepath\.(?:Clean|Base)|secure_filename|check_?[pP]ermission\w*|requires?_\w+)[ (]`)
	// compares are those that have no other use.
	compares  = express(`hmac\.Equal|ConstantTimeCompare|compare_digest|timingSafeEqual|CompareHashAndPassword|checkpw|secure_filename`)
	longLived = express(`(?i)AddDate\(\s*\d{2,}|\b(?:365|8760|87600)\s*\*|\byears?\s*[(=]\s*\d{2,}|expires?_?in["']?\s*[:=]\s*["']?(?:\d{3,}d|\d{2,}y|never|0\b|null|None)|timedelta\(\s*days\s*=\s*\d{3,}|max_?age["']?\s*[:=]\s*\d{9,}`)
)

// What makes a refusal rarer, and a leave more common.
var (
	andAlso = []string{" && ", " and "}
	orElse  = []string{" or ", " || "}
)

// denies says whether a text says no to somebody, and not only that something failed.
func denies(text string) bool {
	return slices.ContainsFunc(denial.FindAllString(text, -1), func(m string) bool { return saysNo.MatchString(m) })
}

var saysNo = express(`(?i)denied|forbid|unauthori|permission|signature|untrusted|access|credential|not_?allowed|\b40[13]\b|expired|limit|mismatch`)
