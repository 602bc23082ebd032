package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// collect copies what was built into a set's folder: libraries to lib, tools and
// what only they need to bin.
func collect(ctx context.Context, from, root string, m Manifest) error {
	for _, dir := range []string{libFolder, toolFolder} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		dir := placeOf(e.Name())
		if dir == "" {
			continue
		}
		src := filepath.Join(from, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			err = collectLink(src, root, dir, &m)
		} else {
			err = collectFile(src, root, dir, &m)
		}
		if err != nil {
			return err
		}
	}
	return writeManifest(root, m)
}

// placeOf says where a file that was built belongs: the -impl libraries hold the
// programs themselves and are of no use to the engine.
func placeOf(name string) string {
	switch {
	case slices.Contains(Tools, name), strings.HasPrefix(name, "lib") && strings.HasSuffix(name, "-impl.so"):
		return toolFolder
	case strings.HasPrefix(name, "lib") && strings.Contains(name, ".so"):
		return libFolder
	}
	return ""
}

func collectLink(src, root, dir string, m *Manifest) error {
	target, err := os.Readlink(src)
	if err != nil {
		return err
	}
	l := Link{Name: filepath.Base(src), Target: target}
	if err := os.Symlink(l.Target, filepath.Join(root, dir, l.Name)); err != nil {
		return err
	}
	m.Links = append(m.Links, l)
	return nil
}

// collectFile copies one file and notes it in the manifest.
func collectFile(src, root, dir string, m *Manifest) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	name := filepath.Base(src)
	out, err := os.OpenFile(filepath.Join(root, dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer out.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), in)
	if err != nil {
		return err
	}
	m.Files = append(m.Files, File{Path: dir + "/" + name, Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return out.Close()
}
