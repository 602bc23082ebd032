package english

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"dure/audio/onnx"
)

// unknown reads words that no dictionary has, letter by letter, with a small network.
type unknown struct {
	lib     *onnx.Library
	session *onnx.Session
	in      map[rune]int64
	out     []string // sound of an index; index 0 is none
	most    int
}

func loadUnknown(lib *onnx.Library, files fs.FS, name string) (*unknown, error) {
	var meta struct {
		In, Out []string
		MaxLen  int
	}
	err := open(files, name+".json", func(r io.Reader) error { return json.NewDecoder(r).Decode(&meta) })
	if err != nil {
		return nil, err
	}
	u := &unknown{lib: lib, in: map[rune]int64{}, out: append([]string{""}, meta.Out...), most: meta.MaxLen}
	for i, c := range meta.In {
		for _, r := range c {
			u.in[r] = int64(i + 1)
			break
		}
	}
	if u.session, err = lib.LoadFile(files, name+".onnx", onnx.Options{}, []string{"chars"}, []string{"ids"}); err != nil {
		return nil, fmt.Errorf("%s.onnx: %w", name, err)
	}
	return u, nil
}

// read returns the word's reading, empty where it knows none of its letters. The network
// gives one sound or none for every place; the same one twice in a row is one.
func (u *unknown) read(ctx context.Context, word string) (string, error) {
	var ids []int64
	for _, r := range word {
		if id := u.in[r]; id != 0 && len(ids) < u.most {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return "", nil
	}
	in, err := onnx.New(u.lib, []int64{1, int64(len(ids))}, ids)
	if err != nil {
		return "", err
	}
	defer in.Close()
	values, err := u.session.Run(ctx, in)
	if err != nil {
		return "", fmt.Errorf("read %q: %w", word, err)
	}
	defer onnx.CloseAll(values)
	out, err := onnx.Data[int64](values[0])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	before := int64(0)
	for _, id := range out {
		if id != before && id > 0 && id < int64(len(u.out)) {
			b.WriteString(u.out[id])
		}
		before = id
	}
	return b.String(), nil
}
