package object

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of names, in bytes: what Linux can check out.
const (
	MaxName = 255
	MaxPath = 4095
)

// ErrPath: a name that must not be in a tree; a PathError says which and why.
var ErrPath = errors.New("refused path")

// A PathError refuses a path. It is an ErrPath.
type PathError struct {
	Path string
	Why  string
}

func (e *PathError) Error() string { return fmt.Sprintf("%v %q: %s", ErrPath, e.Path, e.Why) }

// Is makes it an ErrPath.
func (e *PathError) Is(target error) bool { return target == ErrPath }

// CheckPath says whether a path, relative and with slashes, may be in a tree: the
// rules of git's own index, with those for file systems of macOS and Windows always
// on, since somebody may clone there. What git keeps is kept: control bytes, bytes
// that are no UTF-8, names that differ by case only.
func CheckPath(path string) error {
	switch {
	case path == "":
		return &PathError{path, "it is empty"}
	case len(path) > MaxPath:
		return &PathError{path[:64] + "...", fmt.Sprintf("%d bytes, more than %d", len(path), MaxPath)}
	case path[0] == '/':
		return &PathError{path, "it is absolute"}
	}
	for name := range strings.SplitSeq(path, "/") {
		if why := badName(name); why != "" {
			return &PathError{path, why}
		}
	}
	return nil
}

// CheckName says the same of one name of a tree.
func CheckName(name string) error {
	if why := badName(name); why != "" {
		return &PathError{name, why}
	}
	return nil
}

func badName(name string) string {
	switch {
	case name == "":
		return "a name is empty"
	case name == "." || name == "..":
		return "a name is . or .."
	case len(name) > MaxName:
		return fmt.Sprintf("a name has %d bytes, more than %d", len(name), MaxName)
	case strings.ContainsAny(name, "/\x00"):
		return "a name contains a slash or a NUL"
	case isDotGit(name):
		return "a name is .git, or becomes it on some file system"
	}
	return ""
}

// isDotGit reports whether a name is .git to any of the file systems that git
// knows, also behind a backslash, which Windows takes for a slash.
func isDotGit(name string) bool {
	if isHFS(name, "git") || isNTFSDotGit(name) {
		return true
	}
	for {
		_, rest, found := strings.Cut(name, `\`)
		if !found {
			return false
		}
		if isNTFSDotGit(rest) {
			return true
		}
		name = rest
	}
}

// isHFS reports whether HFS+ takes the name for "." and what: it ignores case and
// some invisible characters.
func isHFS(name, what string) bool {
	rest := name
	for _, want := range "." + what {
		var c rune
		if c, rest = nextHFS(rest); c > 127 || lower(byte(c)) != byte(want) {
			return false
		}
	}
	c, _ := nextHFS(rest)
	return c == 0
}

// nextHFS is the next character that counts, 0 at the end. What is no UTF-8 ends
// the name, as it does for git.
func nextHFS(s string) (rune, string) {
	for s != "" {
		c, n := utf8.DecodeRuneInString(s)
		if c == utf8.RuneError && n == 1 {
			return 0, ""
		}
		s = s[n:]
		switch {
		case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
			continue
		}
		return c, s
	}
	return 0, ""
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isNTFSDotGit knows the short name that Windows gives .git, and the endings that
// it ignores.
func isNTFSDotGit(name string) bool {
	switch {
	case hasPrefixFold(name, ".git"):
		return endsOnNTFS(name[4:])
	case hasPrefixFold(name, "git~1"):
		return endsOnNTFS(name[5:])
	}
	return false
}

// endsOnNTFS reports whether nothing that counts follows: dots and spaces do not,
// and a colon begins the name of a stream.
func endsOnNTFS(rest string) bool {
	for i := range len(rest) {
		switch rest[i] {
		case '\\', '/', ':':
			return true
		case '.', ' ':
		default:
			return false
		}
	}
	return true
}

// isNTFSDot reports whether NTFS takes the name for "." and what: by that name, by
// the numbered short name, or by the short name made of a hash.
func isNTFSDot(name, what, hashed string) bool {
	if hasPrefixFold(name, "."+what) {
		return endsOnNTFS(name[1+len(what):])
	}
	if len(name) >= 8 && hasPrefixFold(name, what[:6]) && name[6] == '~' && name[7] >= '1' && name[7] <= '4' {
		return endsOnNTFS(name[8:])
	}
	if len(name) < 8 {
		return false
	}
	// A hashed short name: the six characters, of which a number takes the last ones.
	tilde := strings.IndexByte(name[:8], '~')
	if tilde < 0 || tilde > 6 || !strings.EqualFold(name[:tilde], hashed[:tilde]) {
		return false
	}
	digits := name[tilde+1 : 8]
	if digits == "" || digits[0] < '1' || digits[0] > '9' || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	return endsOnNTFS(name[8:])
}

// IsModules reports whether some file system takes the name for .gitmodules.
func IsModules(name string) bool {
	return isHFS(name, "gitmodules") || isNTFSDot(name, "gitmodules", "gi7eba")
}

// IsAttributes reports whether some file system takes the name for .gitattributes.
func IsAttributes(name string) bool {
	return isHFS(name, "gitattributes") || isNTFSDot(name, "gitattributes", "gi7d29")
}
