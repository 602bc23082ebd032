package object

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Signature says who did something, and when.
type Signature struct {
	Name, Email string
	When        time.Time // to the second; its zone is kept
}

// A Commit is one state of a tree and where it came from.
type Commit struct {
	Tree      ID
	Parents   []ID
	Author    Signature
	Committer Signature
	// Message ends in a newline.
	Message string
	// Extra are further headers as they stand, each line with its newline. What
	// this package formats has none; what it parses keeps them.
	Extra string
}

// ErrCommit: the bytes are no commit that git would write.
var ErrCommit = errors.New("not a proper commit")

// FormatCommit is the bytes of a commit.
func FormatCommit(c Commit) []byte {
	b := make([]byte, 0, 256+len(c.Message)+len(c.Extra)+48*len(c.Parents))
	b = append(b, "tree "...)
	b = append(b, c.Tree.String()...)
	for _, p := range c.Parents {
		b = append(b, "\nparent "...)
		b = append(b, p.String()...)
	}
	b = append(b, "\nauthor "...)
	b = appendSignature(b, c.Author)
	b = append(b, "\ncommitter "...)
	b = appendSignature(b, c.Committer)
	b = append(b, '\n')
	b = append(b, c.Extra...)
	b = append(b, '\n')
	return append(b, c.Message...)
}

func appendSignature(b []byte, s Signature) []byte {
	b = append(b, s.Name...)
	b = append(b, " <"...)
	b = append(b, s.Email...)
	b = append(b, "> "...)
	b = strconv.AppendInt(b, s.When.Unix(), 10)
	return append(b, s.When.Format(" -0700")...)
}

// ParseCommit reads a commit. It refuses what FormatCommit could not have written
// but further headers, which it keeps.
func ParseCommit(data []byte) (Commit, error) {
	var c Commit
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return c, fmt.Errorf("%w: a NUL at byte %d", ErrCommit, i)
	}
	rest := string(data)
	line, rest := cutLine(rest)
	tree, ok := strings.CutPrefix(line, "tree ")
	if !ok {
		return c, fmt.Errorf("%w: it does not begin with its tree", ErrCommit)
	}
	var err error
	if c.Tree, err = parseLowerID(tree); err != nil {
		return c, err
	}
	line, rest = cutLine(rest)
	for {
		parent, ok := strings.CutPrefix(line, "parent ")
		if !ok {
			break
		}
		id, err := parseLowerID(parent)
		if err != nil {
			return c, err
		}
		c.Parents = append(c.Parents, id)
		line, rest = cutLine(rest)
	}
	if c.Author, err = parseSignature(line, "author "); err != nil {
		return c, err
	}
	line, rest = cutLine(rest)
	if c.Committer, err = parseSignature(line, "committer "); err != nil {
		return c, err
	}
	if strings.HasPrefix(rest, "\n") {
		c.Message = rest[1:]
		return c, nil
	}
	head, message, ok := strings.Cut(rest, "\n\n")
	if !ok {
		c.Extra = rest
		return c, nil
	}
	c.Extra, c.Message = head+"\n", message
	return c, nil
}

func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return line, rest
}

// parseLowerID reads an ID as it stands in objects: git writes small letters only,
// and an object with other ones would have another hash for the same meaning.
func parseLowerID(s string) (ID, error) {
	id, err := ParseID(s)
	if err == nil && strings.ToLower(s) != s {
		err = fmt.Errorf("object ID %q has capital letters", s)
	}
	if err != nil {
		return Zero, fmt.Errorf("%w: %w", ErrCommit, err)
	}
	return id, nil
}

// parseSignature reads "author NAME <EMAIL> SECONDS ZONE" as strictly as git fsck.
func parseSignature(line, prefix string) (Signature, error) {
	var s Signature
	rest, ok := strings.CutPrefix(line, prefix)
	if !ok {
		return s, fmt.Errorf("%w: no %s", ErrCommit, strings.TrimSpace(prefix))
	}
	bad := func(what string) (Signature, error) {
		return s, fmt.Errorf("%w: %s%q: %s", ErrCommit, prefix, rest, what)
	}
	open := strings.IndexByte(rest, '<')
	shut := strings.IndexByte(rest, '>')
	switch {
	case open < 0 || shut < open:
		return bad("no address in angle brackets")
	case strings.ContainsAny(rest[open+1:shut], "<\n"):
		return bad("an angle bracket within the address")
	case open > 0 && rest[open-1] != ' ':
		return bad("no space before the address")
	}
	s.Name, s.Email = strings.TrimSuffix(rest[:open], " "), rest[open+1:shut]
	stamp, ok := strings.CutPrefix(rest[shut+1:], " ")
	seconds, zone, ok2 := strings.Cut(stamp, " ")
	if !ok || !ok2 {
		return bad("no time")
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || unix < 0 || (len(seconds) > 1 && seconds[0] == '0') || seconds[0] == '+' {
		return bad("the time is no number of seconds")
	}
	offset, ok := parseZone(zone)
	if !ok {
		return bad("the time zone is not like +0100")
	}
	s.When = time.Unix(unix, 0).In(time.FixedZone("", offset))
	return s, nil
}

func parseZone(zone string) (seconds int, ok bool) {
	if len(zone) != 5 || zone[0] != '+' && zone[0] != '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(zone[1:], 10, 16)
	if err != nil {
		return 0, false
	}
	seconds = int(n/100*3600 + n%100*60)
	if zone[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// Links reads the tree and the parents of a commit and looks at nothing else, for
// histories whose other headers are not as they should be.
func Links(data []byte) (tree ID, parents []ID, err error) {
	rest, ok := bytes.CutPrefix(data, []byte("tree "))
	if !ok || len(rest) < 2*Size {
		return Zero, nil, fmt.Errorf("%w: it does not begin with its tree", ErrCommit)
	}
	if tree, err = ParseID(string(rest[:2*Size])); err != nil {
		return Zero, nil, fmt.Errorf("%w: %w", ErrCommit, err)
	}
	for rest = rest[2*Size:]; ; rest = rest[2*Size:] {
		rest, ok = bytes.CutPrefix(rest, []byte("\nparent "))
		if !ok || len(rest) < 2*Size {
			return tree, parents, nil
		}
		id, err := ParseID(string(rest[:2*Size]))
		if err != nil {
			return Zero, nil, fmt.Errorf("%w: %w", ErrCommit, err)
		}
		parents = append(parents, id)
	}
}
