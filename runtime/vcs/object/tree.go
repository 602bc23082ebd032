package object

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Mode says what a tree's entry is. Git knows these five and no others.
type Mode uint32

// The modes of entries.
const (
	ModeTree       Mode = 0o040000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeLink       Mode = 0o120000 // a symbolic link: the blob is its target
	ModeGitlink    Mode = 0o160000 // a submodule: the ID is a commit of another repository
)

func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// Valid reports whether it is one of the five.
func (m Mode) Valid() bool {
	switch m {
	case ModeTree, ModeFile, ModeExecutable, ModeLink, ModeGitlink:
		return true
	}
	return false
}

// IsBlob reports whether the entry's object is a blob.
func (m Mode) IsBlob() bool { return m == ModeFile || m == ModeExecutable || m == ModeLink }

// An Entry is one name of a tree. Names are bytes: git knows no encoding.
type Entry struct {
	Name string
	Mode Mode
	ID   ID
}

// ErrTree: the bytes are no tree that git would write.
var ErrTree = errors.New("not a proper tree")

// NextEntry cuts the first entry off the bytes of a tree. The name shares memory
// with data. It checks the form only; ParseTree and CheckTree check the rest.
func NextEntry(data []byte) (name []byte, mode Mode, id ID, rest []byte, err error) {
	space := bytes.IndexByte(data, ' ')
	if space < 1 || space > 7 {
		return nil, 0, Zero, nil, fmt.Errorf("%w: an entry without a mode", ErrTree)
	}
	if data[0] == '0' {
		return nil, 0, Zero, nil, fmt.Errorf("%w: a mode with a leading zero", ErrTree)
	}
	for _, c := range data[:space] {
		if c < '0' || c > '7' {
			return nil, 0, Zero, nil, fmt.Errorf("%w: a mode that is no octal number", ErrTree)
		}
		mode = mode<<3 | Mode(c-'0')
	}
	data = data[space+1:]
	end := bytes.IndexByte(data, 0)
	if end < 0 || len(data) < end+1+Size {
		return nil, 0, Zero, nil, fmt.Errorf("%w: it ends within an entry", ErrTree)
	}
	return data[:end], mode, ID(data[end+1 : end+1+Size]), data[end+1+Size:], nil
}

// ParseTree reads a tree. It refuses a wrong form, order, or mode, and empty or
// repeated names; names that are unsafe to check out are CheckTree's.
func ParseTree(data []byte) ([]Entry, error) {
	entries := make([]Entry, 0, len(data)/40+1)
	for len(data) > 0 {
		name, mode, id, rest, err := NextEntry(data)
		if err != nil {
			return nil, err
		}
		e := Entry{Name: string(name), Mode: mode, ID: id}
		if !mode.Valid() {
			return nil, fmt.Errorf("%w: mode %v of %q", ErrTree, mode, e.Name)
		}
		if e.Name == "" {
			return nil, fmt.Errorf("%w: an empty name", ErrTree)
		}
		if n := len(entries); n > 0 && CompareEntries(entries[n-1], e) >= 0 {
			return nil, fmt.Errorf("%w: %q does not belong behind %q", ErrTree, e.Name, entries[n-1].Name)
		}
		entries = append(entries, e)
		data = rest
	}
	return entries, nil
}

// CompareEntries is the order of a tree: bytes of the name, where that of a folder
// counts as if it ended in a slash.
func CompareEntries(a, b Entry) int {
	return compareNames(a.Name, a.Mode == ModeTree, b.Name, b.Mode == ModeTree)
}

func compareNames(a string, aTree bool, b string, bTree bool) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	return int(nextByte(a, n, aTree)) - int(nextByte(b, n, bTree))
}

// nextByte is what stands at i of a name in the tree's order.
func nextByte(name string, i int, tree bool) byte {
	switch {
	case i < len(name):
		return name[i]
	case tree:
		return '/'
	}
	return 0
}

// AppendEntry appends an entry as it stands in a tree.
func AppendEntry(dst []byte, e Entry) []byte {
	dst = strconv.AppendUint(dst, uint64(e.Mode), 8)
	dst = append(dst, ' ')
	dst = append(dst, e.Name...)
	dst = append(dst, 0)
	return append(dst, e.ID[:]...)
}

// FormatTree is the bytes of a tree. The entries must be in its order.
func FormatTree(entries []Entry) []byte {
	size := 0
	for _, e := range entries {
		size += len(e.Name) + 8 + Size
	}
	dst := make([]byte, 0, size)
	for _, e := range entries {
		dst = AppendEntry(dst, e)
	}
	return dst
}

// FindEntry looks a name up in the bytes of a tree.
func FindEntry(data []byte, name string) (e Entry, found bool, err error) {
	for len(data) > 0 {
		n, mode, id, rest, err := NextEntry(data)
		if err != nil {
			return Entry{}, false, err
		}
		if string(n) == name {
			return Entry{Name: name, Mode: mode, ID: id}, true, nil
		}
		data = rest
	}
	return Entry{}, false, nil
}
