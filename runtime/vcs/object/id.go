package object

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Size is the length of an identifier in bytes.
const Size = sha1.Size

// An ID is the SHA-1 of an object's type, length and bytes.
type ID [Size]byte

// Zero is no object. A ref that is Zero does not exist.
var Zero ID

// IsZero reports whether the ID is no object.
func (id ID) IsZero() bool { return id == Zero }

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Short is the beginning that people are shown.
func (id ID) Short() string { return id.String()[:10] }

// Compare orders IDs as pack indexes do.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// ParseID reads 40 hexadecimal digits.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*Size {
		return Zero, fmt.Errorf("object ID %q: %d characters, want %d (SHA-1)", s, len(s), 2*Size)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return Zero, fmt.Errorf("object ID %q: %w", s, err)
	}
	return id, nil
}

// A Type says what an object is. The values are those of pack entries.
type Type uint8

// The types of objects.
const (
	TypeCommit Type = 1
	TypeTree   Type = 2
	TypeBlob   Type = 3
	TypeTag    Type = 4
)

func (t Type) String() string {
	switch t {
	case TypeCommit:
		return "commit"
	case TypeTree:
		return "tree"
	case TypeBlob:
		return "blob"
	case TypeTag:
		return "tag"
	}
	return "type " + strconv.Itoa(int(t))
}

// Hash is the ID of an object of this type with these bytes.
func Hash(t Type, data []byte) ID {
	var buf [32]byte
	head := append(buf[:0], t.String()...)
	head = append(head, ' ')
	head = strconv.AppendInt(head, int64(len(data)), 10)
	head = append(head, 0)
	h := sha1.New()
	h.Write(head)
	h.Write(data)
	var id ID
	h.Sum(id[:0])
	return id
}
