package gguf

import (
	"bytes"
	"errors"
	"fmt"
)

// Kinds of refusal. A *FormatError wraps exactly one of them.
var (
	// ErrNotGGUF: the file does not start with the magic bytes.
	ErrNotGGUF = errors.New("not a GGUF file")
	// ErrBigEndian: a GGUF file for big-endian machines.
	ErrBigEndian = errors.New("big-endian GGUF file: convert it to little-endian first")
	// ErrVersion: a version of the container that cannot be read.
	ErrVersion = errors.New("unsupported GGUF version")
	// ErrTruncated: the file ends before what it announces.
	ErrTruncated = errors.New("truncated file: download or copy it again")
	// ErrHeaderIncomplete: the bytes given to Parse end within the header,
	// although the file goes on. More bytes are needed.
	ErrHeaderIncomplete = errors.New("header goes on past the bytes at hand")
	// ErrMalformed: the file contradicts the format.
	ErrMalformed = errors.New("malformed GGUF file")
	// ErrChanged: the file was cut short while it was mapped.
	ErrChanged = errors.New("file was cut short while it was read")
	// ErrShards: the shards of a model do not belong together or are missing.
	ErrShards = errors.New("incomplete set of shards")
)

// FormatError says where in a file something is wrong.
type FormatError struct {
	// Path of the file, empty where only its bytes were given.
	Path string
	// Offset in bytes from the start of the file to the field at fault.
	Offset uint64
	// Field names it, for example `tensor 3 ("blk.0.attn_q.weight") offset`.
	Field string
	// Kind is one of the errors above.
	Kind error
	// Detail says what is wrong with the field; it may be empty.
	Detail string
}

func (e *FormatError) Error() string {
	s := "gguf: "
	if e.Path != "" {
		s += e.Path + ": "
	}
	s += fmt.Sprintf("offset %d: %s: %v", e.Offset, e.Field, e.Kind)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

func (e *FormatError) Unwrap() error { return e.Kind }

// notGGUF describes what a file with the wrong magic seems to be, because the
// usual causes have simple cures.
func notGGUF(head []byte) string {
	for _, k := range []struct{ magic, what string }{
		{"version https://git-lfs", "a Git LFS pointer, not the file itself: fetch it with git lfs pull"},
		{"<", "a web page, perhaps an error page saved in place of the model"},
		{"{", "JSON, perhaps an error message saved in place of the model"},
		{"PK\x03\x04", "a zip archive, perhaps PyTorch weights: convert them to GGUF"},
		{"tjgg", "the GGJT format that came before GGUF: convert it"},
		{"lmgg", "the GGML format that came before GGUF: convert it"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return "looks like " + k.what
		}
	}
	return fmt.Sprintf("starts with %q, want %q", head[:min(4, len(head))], Magic)
}
