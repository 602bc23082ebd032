package builtin

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"dure/runtime/tool"
)

// lookScript says what a path is, and if it is a file that is not too large, prints it.
// With "mark", the box notes that the agent has read it, and what it was: the notes lie
// beside the files, in the agent's home, so that they outlive this program exactly as
// the files do, and mean the same box. An agent that changes them fools itself alone.
const lookScript = `p=$1 notes=$HOME/.files-read
if [ ! -e "$p" ]; then
	if [ -L "$p" ]; then echo dangling; else echo missing; fi
	exit
fi
if [ -d "$p" ]; then
	echo folder
	exec find -H "$p" -mindepth 1 -maxdepth 1 -printf '%y%f\0%l\0'
fi
if [ ! -f "$p" ]; then echo special; exit; fi
size=$(stat -Lc %s -- "$p") || exit
if [ "$size" -gt "$3" ]; then
	echo "large $size"
	tail -n "+$5" -- "$p" | head -n "$6" | head -c "$7"
	exit
fi
hash=$(sha256sum <"$p") || exit
hash=${hash%% *} seen=
if [ "$4" = mark ]; then
	if [ ! -d "$notes" ]; then mkdir -p -- "$notes" || exit; fi
	if [ -e "$notes/$2" ] && [ ! -f "$notes/$2" ]; then rm -rf -- "$notes/$2" || exit; fi
	echo "$hash" >"$notes/$2" || exit
elif [ -f "$notes/$2" ]; then
	read -r seen <"$notes/$2"
fi
echo "file $size $hash $seen"
exec cat <"$p"
`

// seen is what a path is.
type seen struct {
	kind string // missing, dangling, folder, special, large, file
	size int64
	hash string // of the content now
	read string // of the content when the agent read it last; empty: never
	body []byte
}

// look looks at a path. from and lines say what of a large file is printed.
func look(ctx context.Context, box Box, f file, mark bool, from, lines int) (seen, answer, error) {
	how := "look"
	if mark {
		how = "mark"
	}
	a, err := script(ctx, box, nil, maxFile+(64<<10), lookScript,
		f.arg, f.key(), fmt.Sprint(maxFile), how, fmt.Sprint(from), fmt.Sprint(lines), fmt.Sprint(maxShown+1))
	if err != nil || a.status != 0 {
		return seen{}, a, err
	}
	line, body, _ := bytes.Cut(a.out, []byte("\n"))
	s := seen{body: body}
	// Fewer words than are asked for is no failure: each kind has its own number.
	_, _ = fmt.Sscan(string(line), &s.kind, &s.size, &s.hash, &s.read)
	if s.kind == "file" && hashOf(body) != s.hash {
		a.status, a.words = -1, "it changed meanwhile: a program is writing to it; wait for its end and do it again"
	}
	return s, a, nil
}

// nothing is the answer about a path at which there is no file, and where one of the
// same name is.
func nothing(ctx context.Context, box Box, f file, s seen) (tool.Result, error) {
	switch s.kind {
	case "dangling":
		return failed("%s is a symbolic link to a file that is not there", f.shown), nil
	case "special":
		return failed("%s is no ordinary file but a pipe, socket or device; it cannot be read or written here", f.shown), nil
	}
	const find = `find . -name .git -prune -o -name "$1" -print 2>/dev/null | head -n 5`
	a, err := script(ctx, box, nil, maxShown, find, quoteGlob(path.Base(f.shown)))
	if err != nil {
		return tool.Result{}, err
	}
	var others []string
	for line := range strings.Lines(string(a.out)) {
		others = append(others, strings.TrimPrefix(strings.TrimSpace(line), "./"))
	}
	if len(others) > 0 {
		return failed("there is no file %s; of that name there is %s", f.shown, strings.ToValidUTF8(strings.Join(others, ", "), "\uFFFD")), nil
	}
	return failed("there is no file %s; read the folder %s to see what there is", f.shown, path.Dir(f.shown)), nil
}

func quoteGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// noText says why content is no text that the file tools work on, or nothing.
func noText(b []byte) string {
	if bytes.HasPrefix(b, []byte{0xFF, 0xFE}) || bytes.HasPrefix(b, []byte{0xFE, 0xFF}) {
		return "is UTF-16 text; make it UTF-8 with shell: iconv -f UTF-16 -t UTF-8"
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return fmt.Sprintf("is binary (a NUL at byte %d); look at it with shell: file, od -c, strings", i)
	}
	if utf8.Valid(b) {
		return ""
	}
	at := 0
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return fmt.Sprintf("is not UTF-8 (byte 0x%02X in line %d); look at it with shell: file, iconv -f latin1 -t UTF-8", b[at], bytes.Count(b[:at], []byte("\n"))+1)
}
