package fetch

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// File is a file that was unpacked.
type File struct {
	Path   string // below the folder it was unpacked into, with slashes
	Bytes  int64
	SHA256 string // hexadecimal
}

// Unpacking says what to take out of an archive.
type Unpacking struct {
	// Select maps a member's name to a path below the target folder; "" leaves
	// the member out. Only regular files can be selected.
	Select func(member string) string
	// Limit is the most bytes to write in all: what claims to be more than the
	// pinned contents is refused.
	Limit int64
	// Progress may be nil. Done counts bytes written, Total is Limit.
	Progress ProgressFunc
}

// Unpack writes the selected members of a .tgz or .whl archive below dir and
// returns them in the archive's order. Names that leave the folder, members
// that are no regular files, names that come twice and archives that are cut
// short or damaged are *ArchiveError; nothing is ever written outside dir. The
// contents are not flushed to the disk: Stage.Publish does that.
func Unpack(ctx context.Context, archive, dir string, what Unpacking) ([]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", archive, err)
	}
	defer root.Close()
	u := &unpacker{archive: archive, name: filepath.Base(archive), what: what, buf: make([]byte, 256<<10)}
	u.write = u.writeBelow(root)
	if err := u.members(ctx); err != nil {
		return nil, fmt.Errorf("unpack: %w", DiskFull(err, dir, uint64(what.Limit)))
	}
	return u.files, nil
}

// reportEvery keeps the progress from being told thousands of times a second.
const reportEvery = 1 << 20

type unpacker struct {
	archive string
	name    string // of the progress
	what    Unpacking
	// write puts a selected member where its select says.
	write   func(ctx context.Context, member, to string, r io.Reader) error
	buf     []byte
	written int64
	// reported is what the last progress said.
	reported int64
	files    []File
}

func (u *unpacker) bad(member, reason string, err error) error {
	return &ArchiveError{Path: u.archive, Member: member, Reason: reason, Err: err}
}

// members goes through the archive.
func (u *unpacker) members(ctx context.Context) error {
	switch {
	case strings.HasSuffix(u.archive, ".tgz"):
		return u.tgz(ctx)
	case strings.HasSuffix(u.archive, ".whl"):
		return u.zip(ctx)
	}
	return u.bad("", "want a .tgz or .whl file", nil)
}

func (u *unpacker) tgz(ctx context.Context) error {
	file, err := os.Open(u.archive)
	if err != nil {
		return err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return u.bad("", "not a whole gzip file", err)
	}
	for members := tar.NewReader(unzipped); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return u.bad("", "not a whole tar file", err)
		}
		regular := header.Typeflag == tar.TypeReg
		open := func() (io.ReadCloser, error) { return io.NopCloser(members), nil }
		if err := u.member(ctx, header.Name, regular, header.Typeflag == tar.TypeDir, open); err != nil {
			return err
		}
	}
	// The checksum of gzip stands after the end of the tar.
	if _, err := io.Copy(io.Discard, &contextReader{ctx: ctx, r: unzipped}); err != nil {
		return u.bad("", "not a whole gzip file", err)
	}
	return nil
}

func (u *unpacker) zip(ctx context.Context) error {
	members, err := zip.OpenReader(u.archive)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return u.bad("", "not a whole zip file", err)
	}
	defer members.Close()
	for _, m := range members.File {
		if err := u.member(ctx, m.Name, m.Mode().IsRegular(), m.Mode().IsDir(), m.Open); err != nil {
			return err
		}
	}
	return nil
}

// member looks at one member and writes it if it is selected. A name that
// leaves the folder condemns the archive even where nobody wants the member.
func (u *unpacker) member(ctx context.Context, name string, regular, folder bool, open func() (io.ReadCloser, error)) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if !safeName(name) {
		return u.bad(name, "its name leaves the folder", nil)
	}
	if folder {
		return nil
	}
	to := u.what.Select(name)
	if to == "" {
		return nil
	}
	if !safeName(to) {
		return u.bad(name, fmt.Sprintf("it would be written to %q, outside the folder", to), nil)
	}
	if !regular {
		return u.bad(name, "it is not a regular file", nil)
	}
	r, err := open()
	if err != nil {
		return u.bad(name, "cannot be read", err)
	}
	defer r.Close()
	return u.write(ctx, name, path.Clean(to), r)
}

// safeName accepts relative paths that stay below their root.
func safeName(name string) bool {
	return filepath.IsLocal(name) && !strings.ContainsAny(name, "\\\x00")
}

// writeBelow makes a file of each member.
func (u *unpacker) writeBelow(root *os.Root) func(ctx context.Context, member, to string, r io.Reader) error {
	return func(ctx context.Context, member, to string, r io.Reader) error {
		if err := root.MkdirAll(path.Dir(to), 0o755); err != nil {
			return err
		}
		out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			return u.bad(member, "a file of its name was there before", err)
		}
		if err != nil {
			return err
		}
		defer out.Close()
		sum := sha256.New()
		n, err := u.copy(ctx, member, io.MultiWriter(out, sum), r)
		if err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
		u.files = append(u.files, File{Path: to, Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
		return nil
	}
}

func (u *unpacker) copy(ctx context.Context, member string, w io.Writer, r io.Reader) (int64, error) {
	var n int64
	for {
		if err := ctx.Err(); err != nil {
			return n, context.Cause(ctx)
		}
		got, readErr := r.Read(u.buf)
		if u.written += int64(got); u.written > u.what.Limit {
			return n, u.bad(member, fmt.Sprintf("the contents are larger than the expected %d bytes", u.what.Limit), nil)
		}
		if _, err := w.Write(u.buf[:got]); err != nil {
			return n, err
		}
		n += int64(got)
		ended := errors.Is(readErr, io.EOF)
		if u.what.Progress != nil && (ended || u.written-u.reported >= reportEvery) {
			u.reported = u.written
			u.what.Progress(Progress{Step: "unpack", Name: u.name, Done: u.written, Total: u.what.Limit})
		}
		if ended {
			return n, nil
		}
		if readErr != nil {
			return n, u.bad(member, "it is damaged", readErr)
		}
	}
}
