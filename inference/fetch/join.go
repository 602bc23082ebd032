package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Piece is a member of an archive that is the whole of a file, or a part of it.
type Piece struct {
	Archive string // path of a .tgz or .whl file
	Member  string
}

// Join writes the pieces, one after the other, into the new file at path and
// returns what it has become; File.Path is that path. It is hashed while it is
// written, and no piece is on the disk a second time. limit is the most bytes to
// write in all. Errors are those of Unpack; a member that is missing from its
// archive, or is there twice, is an *ArchiveError too. What was written before
// an error stays: the caller's stage takes it away. The contents are not flushed
// to the disk: Stage.Publish does that. progress may be nil; it has the step
// "unpack", the file's name and limit as its total.
func Join(ctx context.Context, pieces []Piece, path string, limit int64, progress ProgressFunc) (File, error) {
	file, err := join(ctx, pieces, path, limit, progress)
	if err != nil {
		return File{}, fmt.Errorf("unpack: %w", DiskFull(err, filepath.Dir(path), uint64(limit)))
	}
	return file, nil
}

func join(ctx context.Context, pieces []Piece, path string, limit int64, progress ProgressFunc) (File, error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return File{}, err
	}
	defer out.Close()
	sum := sha256.New()
	into := io.MultiWriter(out, sum)
	// One for all archives: limit and progress count over all of them.
	u := &unpacker{name: filepath.Base(path), what: Unpacking{Limit: limit, Progress: progress}, buf: make([]byte, 256<<10)}
	for _, piece := range pieces {
		if err := u.appendPiece(ctx, piece, into); err != nil {
			return File{}, err
		}
	}
	if err := out.Close(); err != nil {
		return File{}, err
	}
	return File{Path: path, Bytes: u.written, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// appendPiece writes one piece to the end of into.
func (u *unpacker) appendPiece(ctx context.Context, piece Piece, into io.Writer) error {
	u.archive = piece.Archive
	u.what.Select = func(member string) string {
		if member == piece.Member {
			return member
		}
		return ""
	}
	found := false
	u.write = func(ctx context.Context, member, _ string, r io.Reader) error {
		if found {
			return u.bad(member, "it is there twice", nil)
		}
		found = true
		_, err := u.copy(ctx, member, into, r)
		return err
	}
	if err := u.members(ctx); err != nil {
		return err
	}
	if !found {
		return u.bad(piece.Member, "there is no such member", nil)
	}
	return nil
}
