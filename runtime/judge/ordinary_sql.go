package judge

import (
	"regexp"
	"slices"
	"strings"
)

// toolUse: the tools of dure's own, and those that a person gave the team.
func (o *ordinary) toolUse(a *act) string {
	kind := strings.TrimPrefix(a.program, "tool:")
	for _, p := range a.args {
		if why := o.seen(p); why != "" {
			return why
		}
		if kind != "write" && kind != "edit" && wideRoot.MatchString(clean(p)) {
			return quote(p) + " is more than the work; look in the repository"
		}
		if strings.HasPrefix(clean(p), "..") {
			return "the file " + quote(p) + " is outside the work"
		}
		if kind == "write" || kind == "edit" {
			if why := o.written(p); why != "" {
				return why
			}
		}
	}
	if kind != "write" && kind != "edit" && kind != "read" && kind != "search" {
		if why := holdsKey(a.text, "", true); why != "" {
			return why
		}
	}
	switch {
	case kind == "sql":
		return statement(a.text)
	case kind == "commit":
		return firstWhy(ordered(a.text, models), told(a.text))
	case kind == "ask_human":
		return firstWhy(ordered(a.text, reports), asksOf(a.text))
	case slices.Contains(reporting, kind):
		return firstWhy(ordered(a.text, reports), told(a.text))
	case slices.Contains(speaking, kind):
		return firstWhy(ordered(a.text, everyone), planned(a.text))
	}
	return unreadable(a.text)
}

// firstWhy is the first reason of some.
func firstWhy(all ...string) string {
	for _, why := range all {
		if why != "" {
			return why
		}
	}
	return ""
}

// reporting are tools by which agents tell what they did, and ask the person.
var reporting = []string{"done", "finish", "report", "report_file", "ask_human", "verdict", "answer"}

// speaking are tools whose text others read.
var speaking = []string{"message", "announce", "note", "spawn", "assign", "ask_human", "report_file", "done", "finish", "report", "answer", "comment", "review", "verdict", "send_message", "broadcast", "reply", "post"}

// statement: one statement on the team's tables, on rows that it names.
func statement(sql string) string {
	texts := ""
	bare := quotedSQL.ReplaceAllStringFunc(sql, func(s string) string {
		texts += strings.Trim(s, "'") + "\n"
		return "''"
	})
	bare = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(bare), ";"))
	switch {
	case strings.Contains(bare, ";"):
		return "one statement at a time"
	case innerChange.MatchString(bare):
		return "a change within another statement is not seen; make it a statement of its own"
	case !ownStatement.MatchString(bare):
		return "it is no select, insert, update or delete of the team's tables"
	case beyondTables.MatchString(bare):
		return quote(beyondTables.FindString(bare)) + " is no part of the team's tables"
	case foreignRows.MatchString(bare):
		return "whose a row is, and what has landed, is not changed by hand"
	case secretTables.MatchString(bare):
		return quote(secretTables.FindString(bare)) + " holds what is no agent's to read"
	case changesRows.MatchString(bare) && judgedTables.MatchString(bare), judgedColumns.MatchString(bare):
		return "how agents and their work are judged is not changed by hand"
	case changesRows.MatchString(bare) && othersRows.MatchString(bare):
		return "rows of other agents are theirs; ask them with message"
	case changesRows.MatchString(bare) && (manyRows.MatchString(bare) || stateRows.MatchString(bare) && !oneRow.MatchString(bare)):
		return "say with where and an id which rows are meant"
	case changesRows.MatchString(bare) && meetsItself(bare):
		return "say with where which rows are meant"
	case changesRows.MatchString(bare) && (!hasWhere.MatchString(bare) || allRows.MatchString(bare)):
		return "say with where which rows are meant"
	}
	return firstWhy(endlessSQL(bare), ordered(texts, everyone), planned(texts))
}

var (
	quotedSQL    = regexp.MustCompile(`'(?:[^']|'')*'`)
	ownStatement = regexp.MustCompile(`(?is)^(select|with|insert\s+into|update|delete\s+from|create\s+table|values|explain)\b`)
	beyondTables = regexp.MustCompile(`(?i)\b(pg_\w+|information_schema|sqlite_\w+|dure_\w+|current_setting|set_config|load_extension|readfile|writefile|dblink|lo_\w+|attach|pragma|copy|grant|revoke|alter|drop|truncate|trigger|function|role|vacuum|session_user|xp_\w+|exec|execute|do\s*\$)\b|--|/\*`)
	foreignRows  = regexp.MustCompile(`(?is)^(update|delete\s+from|insert\s+into)\s+landed\b|^update\b.*\bset\b.*\b(agent|author|sender|holder|owner|role|created_by|"agent")\s*=|^insert\s+into\s+\w+\s*\([^)]*\b(agent|author|sender|holder)\b`)
	changesRows  = regexp.MustCompile(`(?i)^(update|delete)\b`)
	hasWhere     = regexp.MustCompile(`(?i)\bwhere\b`)
	allRows      = regexp.MustCompile(`(?i)\bwhere\s+(not\s+)?(1\s*=\s*1|true|''\s*=\s*''|\w+\s+is\s+not\s+null|\w+\s*(<>|!=|>|>=|<|<=)\s*\S+\s*$|\w+\s+like\s+''\s*$|id\s*=\s*id\b|exists|\d+)|\bor\s+(1\s*=\s*1|true)`)
	judgedTables = regexp.MustCompile(`(?i)^(update|delete\s+from)\s+"?(\w*scores?|grades?|results?|ratings?|rankings?|verdicts?|votes?|reviews?|approvals?|budgets?|quotas?|limits?|permissions?|grants?|capabilit\w+|agents?|members?|roles?|teams?|runs?|checks?|gates?|audit\w*|events?|journal|history|logs?|calls?|rules?|policies|settings?|config\w*|secrets?|keys?|tokens?)\b`)
	// judgedColumns are decided by others than who writes a row.
	judgedColumns = regexp.MustCompile(`(?is)^update\b.*\bset\b.*\b(score|grade|rating|verdict|approved(_by|_at)?|reviewed(_by)?|verified(_by)?|budget|quota|permissions?|is_admin|admin|trusted|priority_override|allowed|check_passed|passed|check|check_command|command|acceptance\w*|criteria)\s*=|^insert\s+into\s+"?(scores?|grades?|verdicts?|approvals?|votes?|budgets?|permissions?|grants?|capabilit\w+|landed|audit\w*|events?|journal)\b`)
	othersRows    = regexp.MustCompile(`(?is)\bwhere\b.*\b(agent|author|sender|holder|owner|assignee|worker|created_by|name|recipient|receiver)\w*\s*(<>|!=|not\s+in|not\s+like|in\s*\(|like|is\s+not|~|>|<)|^delete\b.*\bwhere\b.*\b(agent|author|sender|holder|owner|worker|created_by|recipient|receiver)\w*\s*=`)
	manyRows      = regexp.MustCompile(`(?is)\bwhere\b.*(\bid\w*\s*(>|<|!=|<>|between\b|not\b|is\s+not|in\s*\(\s*select|%|like\b|\+|\*)|\d\s*=\s*\d|\w+\s+between\b|\blength\s*\(|\brandom\s*\(|\b(\w+)\s+in\s*\(\s*select)`)
	stateRows     = regexp.MustCompile(`(?i)\bwhere\b.*\b(assignee|agent|author|sender|owner|holder|worker|recipient|receiver|state|status|kind|type|class|open|closed|priority|topic|created\w*|updated\w*)"?\s*(=|<>|!=|in\b|<|>|is\b|like\b)`)
	oneRow        = regexp.MustCompile(`(?i)\bwhere\b.*\b(\w*id|name|key|number|no|slug|path|title)"?\s*(=|in\s*\(\s*(\d|'))`)
	secretTables  = regexp.MustCompile(`(?i)\b(from|join|into)\s+"?\w*(secrets?|credentials?|passwords?|api_?keys?|private_?keys?|access_?keys?|sessions?_?keys?|vault|keyring|transcripts?|thoughts?|reasoning|journal|hidden\w*|holdout\w*)\b`)
	wideRoot      = regexp.MustCompile(`^(/|/(home|proc|sys|etc|var|run|root|boot|dev|mnt|media|srv|Users|host)|/home/[^/]+|~|(/work/)?\.\.(/\.\.)*|/proc/(\d+|self|\*).*|/var/(run|log|lib|spool)|/run/.*)$`)
)

var (
	innerChange = regexp.MustCompile(`(?is)^with\b.*\(\s*(?:delete|update|insert)\b`)
	recursive   = regexp.MustCompile(`(?is)^with\s+recursive\b`)
	bounded     = regexp.MustCompile(`(?i)\blimit\s+\d|\bwhere\b|\bjoin\b`)
	crossJoined = regexp.MustCompile(`(?is)\bfrom\s+\w+(?:\s+(?:as\s+)?\w+)?(?:\s*,\s*\w+(?:\s+(?:as\s+)?\w+)?){2,}|(?:\bcross\s+join\b.*){2,}`)
	made        = regexp.MustCompile(`(?i)\b(?:generate_series|repeat|randomblob|zeroblob|lpad|rpad)\s*\([^)]*\d{5,}|\bsleep\s*\(`)
)

// endlessSQL is a statement that takes all the time or space there is.
func endlessSQL(bare string) string {
	switch {
	case recursive.MatchString(bare) && !bounded.MatchString(bare), crossJoined.MatchString(bare) && !hasWhere.MatchString(bare), made.MatchString(bare):
		return "it takes more time or space than a question about the work"
	}
	return ""
}

var equal = regexp.MustCompile(`(?i)\b([a-z_]\w*)\s*=\s*([a-z_]\w*)\b`)

// meetsItself says whether a where compares a column with itself.
func meetsItself(bare string) bool {
	_, where := cutWhere(bare)
	for _, m := range equal.FindAllStringSubmatch(where, 20) {
		if strings.EqualFold(m[1], m[2]) {
			return true
		}
	}
	return false
}
