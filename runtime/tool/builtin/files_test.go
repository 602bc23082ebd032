package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"dure/runtime/sandbox"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
)

// desk is an agent's file tools in a box.
type desk struct {
	t   *testing.T
	box builtin.Box
}

// sh runs a command in the box, as the agent could.
func (d desk) sh(command string) string {
	d.t.Helper()
	var out bytes.Buffer
	r, err := d.box.Run(d.t.Context(), sandbox.Cmd{Args: []string{"sh", "-ec", command}, Stdout: &out, Stderr: &out})
	if err != nil || r.Code != 0 {
		d.t.Fatalf("%s: %+v %v %s", command, r, err, out.String())
	}
	return out.String()
}

// call calls a tool with arguments in pairs.
func (d desk) call(t tool.Tool, pairs ...string) tool.Result {
	d.t.Helper()
	args := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(args)
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := t.Run(d.t.Context(), tool.Call{Agent: "noether", ID: "t1.1", Tool: t.Spec().Name, Arguments: string(b)})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d desk) read(pairs ...string) tool.Result  { return d.call(builtin.Read{Box: d.box}, pairs...) }
func (d desk) write(pairs ...string) tool.Result { return d.call(builtin.Write{Box: d.box}, pairs...) }
func (d desk) edit(pairs ...string) tool.Result  { return d.call(builtin.Edit{Box: d.box}, pairs...) }
func (d desk) search(pairs ...string) tool.Result {
	return d.call(builtin.Search{Box: d.box}, pairs...)
}

// expect is what a result must be: done, and all of the text; or another outcome, and
// a part of it.
func (d desk) expect(r tool.Result, outcome tool.Outcome, text string) {
	d.t.Helper()
	if r.Outcome != outcome || outcome == tool.Done && r.Output != text || !strings.Contains(r.Output, text) {
		d.t.Errorf("%s %.600q, want %s %q", r.Outcome, r.Output, outcome, text)
	}
}

func TestRead(t *testing.T) {
	d := desk{t, box(t)}
	d.sh(`mkdir -p src/empty && cd src && printf 'one\ntwo\nthree\n' >a.txt && printf 'x\r\ny' >crlf && : >nothing
		seq 1 2000 >many && printf '%030000d\nend\n' 7 >long && printf 'caf\351\n' >latin && printf 'a\0b' >bin && printf '\377\376a\0' >utf16
		ln -s a.txt link && ln -s gone dangling && ln -s loop loop && mkfifo pipe && truncate -s 6000000 huge && printf 'first\nsecond\n' | dd of=huge conv=notrunc status=none
		printf 'x' >-n && printf 'y' >'two words' && printf 'z' >'*' && touch "$(printf 'line\nbreak')"`)
	d.expect(d.read("path", "src/a.txt"), tool.Done, "[src/a.txt: 3 lines]\none\ntwo\nthree\n")
	d.expect(d.read("path", "./src//../src/a.txt", "from", "2"), tool.Done, "[src/a.txt: lines 2-3 of 3]\ntwo\nthree\n")
	d.expect(d.read("path", "/work/src/a.txt", "from", "2", "lines", "1"), tool.Done, "[src/a.txt: lines 2-2 of 3; go on with from=3]\ntwo\n")
	d.expect(d.read("path", "src/link", "lines", "1"), tool.Done, "[src/link: lines 1-1 of 3; go on with from=2]\none\n")
	d.expect(d.read("path", "src/crlf"), tool.Done, "[src/crlf: 2 lines; lines end in CR LF, which edit keeps; no line break at its end]\nx\ny")
	d.expect(d.read("path", "src/nothing"), tool.Done, "[src/nothing: empty]")
	d.expect(d.read("path", "src/-n"), tool.Done, "[src/-n: 1 line; no line break at its end]\nx")
	d.expect(d.read("path", "src/*"), tool.Done, "[src/*: 1 line; no line break at its end]\nz")
	d.expect(d.read("path", "src/empty"), tool.Done, "[folder src/empty: empty]")
	listing := d.read("path", "src").Output
	for _, want := range []string{"18 entries", "\n\"line\\nbreak\"\n", "\nempty/\n", "\nlink -> a.txt\n", "\npipe (no ordinary file)\n", "\ntwo words\n"} {
		if !strings.Contains(listing, want) {
			t.Errorf("the folder is %q, without %q", listing, want)
		}
	}
	many := d.read("path", "src/many").Output
	if !strings.HasPrefix(many, "[src/many: lines 1-600 of 2000; go on with from=601]\n1\n2\n") || !strings.HasSuffix(many, "\n600\n") {
		t.Errorf("%.100q ... %q", many, many[len(many)-20:])
	}
	long := d.read("path", "src/long").Output
	if !strings.HasPrefix(long, "[src/long: lines 1-1 of 2; go on with from=2; line 1 is long, its last 5425 bytes are left out]\n0000") {
		t.Errorf("%.200q", long)
	}
	huge := d.read("path", "src/huge", "lines", "2").Output
	if huge != "[src/huge: lines 1-2; 6000000 bytes are too many to edit it; go on with from=3]\nfirst\nsecond\n" {
		t.Errorf("%.200q", huge)
	}
	for path, want := range map[string]string{
		"src/huge": "is binary", "src/bin": "is binary (a NUL at byte 1)", "src/latin": "is not UTF-8 (byte 0xE9 in line 1)", "src/utf16": "UTF-16",
		"src/dangling": "a symbolic link to a file that is not there", "src/loop": "symbolic link", "src/pipe": "no ordinary file", "/dev/zero": "no ordinary file",
		"a.txt": "there is no file a.txt; of that name there is src/a.txt", "src/gone": "read the folder src", "src/a.txt/x": "there is no file",
	} {
		d.expect(d.read("path", path), tool.Failed, want)
	}
	d.expect(d.read("path", "src/a.txt", "from", "9"), tool.Failed, "src/a.txt has 3 lines; from is 9")
	d.expect(d.read("path", "src/a.txt", "from", "0"), tool.Invalid, "a whole number from 1 on")
	for _, path := range []string{"", "~/x", "a\nb", strings.Repeat("x/", 3000)} {
		d.expect(d.read("path", path), tool.Invalid, "path ")
	}
}

func TestWrite(t *testing.T) {
	d := desk{t, box(t)}
	d.expect(d.write("path", "a/b/c.go", "content", "package c\n"), tool.Done, "made a/b/c.go: 1 line, 10 bytes")
	d.expect(d.write("path", "a/b/c.go", "content", "package c\n"), tool.Done, "a/b/c.go has this content already: 1 line, 10 bytes")
	// What it has written it has seen.
	d.expect(d.write("path", "a/b/c.go", "content", "package d\r\n"), tool.Done, "replaced a/b/c.go: 1 line, 11 bytes now")
	if got := d.sh("cat a/b/c.go"); got != "package d\r\n" {
		t.Errorf("%q", got)
	}
	d.sh("printf x >unread; printf y >run; chmod 755 run; ln -s run link; mkdir dir; mkfifo pipe")
	d.expect(d.write("path", "unread", "content", "z"), tool.Failed, "exists and you have not read it; read it first")
	d.expect(d.write("path", "dir", "content", "z"), tool.Failed, "is a folder")
	d.expect(d.write("path", "pipe", "content", "z"), tool.Failed, "no ordinary file")
	d.expect(d.write("path", "run/x", "content", "z"), tool.Failed, "writing run/x failed")
	d.expect(d.write("path", "/usr/x", "content", "z"), tool.Failed, "Read-only file system")
	d.expect(d.write("path", "/x", "content", "z"), tool.Failed, "writing /x failed")
	// Through a link, with the mode that it had.
	d.read("path", "link")
	d.expect(d.write("path", "link", "content", "#!/bin/sh\necho ran\n"), tool.Done, "replaced link: 2 lines, 19 bytes now")
	if got := d.sh("./run; readlink link"); got != "ran\nrun\n" {
		t.Errorf("%q", got)
	}
	// Somebody else changed it.
	d.sh("echo more >>run")
	d.expect(d.write("path", "link", "content", "z"), tool.Failed, "is not as you read it last")
	// Fences, and line breaks that are written out.
	d.expect(d.write("path", "x.py", "content", "```python\nprint(1)\n```\n"), tool.Done, "made x.py: 1 line, 9 bytes\n[the lines of ``` around the content were left out]")
	d.expect(d.write("path", "x.md", "content", "```python\nprint(1)\n```\n"), tool.Done, "made x.md: 3 lines, 23 bytes")
	r := d.write("path", "y.py", "content", `a = 1\nb = 2\n`)
	if r.Outcome != tool.Done || !strings.Contains(r.Output, "a backslash and an n stand 2 times") || d.sh("cat y.py") != `a = 1\nb = 2\n` {
		t.Errorf("%+v", r)
	}
	if got := d.sh("find . -name '.dure*'"); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

func TestEdit(t *testing.T) {
	d := desk{t, box(t)}
	d.sh(`printf 'package a\n\nfunc f() {\n\tg()\n\th()\n}\n' >a.go; printf 'a\r\nb\r\nc' >crlf; chmod 751 crlf; truncate -s 5000000 huge; printf 'a\0b' >bin; mkdir dir`)
	d.expect(d.edit("path", "a.go", "old", "g()", "new", "k()"), tool.Failed, "you have not read a.go; read it first")
	d.read("path", "a.go", "lines", "1")
	d.expect(d.edit("path", "a.go", "old", "g()", "new", "k()"), tool.Done, `--- a.go
+++ a.go
@@ -1,6 +1,6 @@
 package a
 
 func f() {
-	g()
+	k()
 	h()
 }
`)
	d.expect(d.edit("path", "a.go", "old", "func f() {\n    k()  \n    h()\n", "new", "func f() {\n    if x {\n        k()\n    }\n"), tool.Done, `[old was found but for the indentation, which was kept as it is in the file]
--- a.go
+++ a.go
@@ -1,6 +1,7 @@
 package a
 
 func f() {
-	k()
-	h()
+	if x {
+		k()
+	}
 }
`)
	d.expect(d.edit("path", "a.go", "old", "}", "new", "]"), tool.Failed, "more than once, at lines 6 7:")
	d.sh("echo >>a.go")
	d.expect(d.edit("path", "a.go", "old", "k()", "new", "l()"), tool.Failed, "a.go has changed since you read it; read it again")
	d.read("path", "a.go")
	d.expect(d.edit("path", "a.go", "old", "if y {\n k()\n}", "new", "l()"), tool.Failed, "the nearest is at line 4, where it is:\n\tif x {\n\t\tk()\n\t}\n")
	d.read("path", "crlf")
	d.expect(d.edit("path", "crlf", "old", "a\nb\n", "new", "A\nB\nB\n"), tool.Done, "--- crlf\n+++ crlf\n@@ -1,3 +1,4 @@\n-a\n-b\n+A\n+B\n+B\n c\n\\ No newline at end of file\n")
	if got := d.sh("cat crlf; stat -c %a crlf"); got != "A\r\nB\r\nB\r\nc751\n" {
		t.Errorf("%q", got)
	}
	d.read("path", "bin")
	d.expect(d.edit("path", "bin", "old", "a", "new", "b"), tool.Failed, "is binary")
	d.expect(d.edit("path", "huge", "old", "a", "new", "b"), tool.Failed, "edit takes 4194304 at most")
	d.expect(d.edit("path", "dir", "old", "a", "new", "b"), tool.Failed, "is a folder")
	d.expect(d.edit("path", "gone", "old", "a", "new", "b"), tool.Failed, "there is no file gone")
	d.expect(d.edit("path", "a.go", "old", "", "new", "b"), tool.Failed, "old is empty")
	d.expect(d.edit("path", "a.go", "old", "k()"), tool.Invalid, `needs the argument "new"`)
}

// What was read is known after this program has died: the notes are the box's.
func TestWhatWasReadOutlivesTheProgram(t *testing.T) {
	dir := t.TempDir()
	var last *sandbox.Box
	start := func() (desk, func()) {
		host, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
		if errors.Is(err, sandbox.ErrRefused) {
			t.Skip("SKIPPED: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if last, err = host.Start(t.Context(), sandbox.Spec{Name: "again", Dir: dir}); err != nil {
			t.Fatal(err)
		}
		return desk{t, last}, func() {
			if err := errors.Join(last.Close(), host.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, end := start()
	d.sh("printf 'a\\n' >read; printf 'a\\n' >unread; printf 'a\\n' >changed")
	d.read("path", "read")
	d.read("path", "changed")
	d.sh("printf 'b\\n' >changed")
	end()
	d, end = start()
	defer end()
	d.expect(d.edit("path", "unread", "old", "a", "new", "c"), tool.Failed, "you have not read unread")
	d.expect(d.edit("path", "changed", "old", "b", "new", "c"), tool.Failed, "changed has changed since")
	if r := d.edit("path", "read", "old", "a", "new", "c"); r.Outcome != tool.Done || d.sh("cat read") != "c\n" {
		t.Errorf("%+v", r)
	}
}

// meddler is a box in which something happens before the n-th run.
type meddler struct {
	builtin.Box
	n    int
	what func()
}

func (m *meddler) Run(ctx context.Context, c sandbox.Cmd) (sandbox.Result, error) {
	if m.n--; m.n == 0 {
		m.what()
	}
	return m.Box.Run(ctx, c)
}

func TestHostileTrees(t *testing.T) {
	d := desk{t, box(t)}
	d.sh("printf 'a\\n' >f; printf 'secret\\n' >/tmp/other; mkdir sub")
	d.read("path", "f")
	// It changes between look and put.
	m := desk{t, &meddler{Box: d.box, n: 2, what: func() { d.sh("printf 'mine\\n' >f") }}}
	m.expect(m.edit("path", "f", "old", "a", "new", "b"), tool.Failed, "is not as you read it last")
	m = desk{t, &meddler{Box: d.box, n: 2, what: func() { d.sh("rm f; mkfifo f") }}}
	d.read("path", "f")
	m.expect(m.edit("path", "f", "old", "mine", "new", "b"), tool.Failed, "no ordinary file")
	d.sh("rm f; printf 'a\\n' >f")
	d.read("path", "f")
	m = desk{t, &meddler{Box: d.box, n: 2, what: func() { d.sh("rm f") }}}
	m.expect(m.edit("path", "f", "old", "a", "new", "b"), tool.Failed, "is not as you read it last")
	if got := d.sh("ls -A"); got != "sub\n" {
		t.Errorf("%q", got)
	}
	// What lies where a file is staged, or noted, is not written through.
	for _, trap := range []string{"ln -s /tmp/other " + builtin.Stage, "mkfifo " + builtin.Stage} {
		d.sh(trap)
		d.write("path", "g", "content", trap)
		if got := d.sh("cat g /tmp/other; ls -A; rm g"); got != trap+"secret\ng\nsub\n" {
			t.Errorf("%s: %q", trap, got)
		}
	}
	d.sh("printf 'a\\n' >f")
	d.read("path", "f")
	d.sh(`for n in "$HOME"/.files-read/*; do rm "$n"; mkfifo "$n"; done`)
	d.expect(d.edit("path", "f", "old", "a", "new", "b"), tool.Failed, "you have not read f")
	d.read("path", "f")
	if r := d.edit("path", "f", "old", "a", "new", "b"); r.Outcome != tool.Done {
		t.Errorf("%+v", r)
	}
	d.sh(`rm -r "$HOME"/.files-read; touch "$HOME"/.files-read`)
	d.expect(d.read("path", "f"), tool.Failed, "File exists")
	d.sh(`rm "$HOME"/.files-read; mkdir ` + builtin.Stage)
	d.read("path", "f")
	d.expect(d.edit("path", "f", "old", "b", "new", "c"), tool.Failed, "Is a directory")
	if got := d.sh("cat f"); got != "b\n" {
		t.Errorf("%q", got)
	}
	if _, err := (builtin.Read{Box: lost{}}).Run(t.Context(), tool.Call{Arguments: `{"path":"f"}`}); err == nil {
		t.Error("no error of a box that is gone")
	}
}

// A full disk leaves the file as it was.
func TestNoRoom(t *testing.T) {
	host, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, sandbox.ErrRefused) {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := host.Start(t.Context(), sandbox.Spec{Name: "full", Dir: t.TempDir(), Volatile: 1 << 20})
	if err != nil {
		_ = host.Close()
		t.Skip("SKIPPED: no workspace in memory here: ", err)
	}
	defer func() {
		if err := errors.Join(b.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	}()
	d := desk{t, b}
	d.sh("printf 'a\\n' >f")
	d.read("path", "f")
	d.expect(d.write("path", "f", "content", strings.Repeat("x", 2<<20)), tool.Failed, "No space left on device")
	if got := d.sh("cat f; ls -A"); got != "a\nf\n" {
		t.Errorf("%q", got)
	}
}

func TestSearch(t *testing.T) {
	d := desk{t, box(t)}
	d.sh(`mkdir -p src/deep build .git out
		printf 'func One() {}\nvar x = 1\nfunc Two() {}\n' >src/a.go; printf 'func Three() {}\r\n' >src/deep/b.go; printf 'func\0bin' >bin
		for d in build .git out; do echo 'func Hidden() {}' >$d/h.go; done; echo 'func Logged() {}' >x.log; echo 'func Kept() {}' >keep.log
		printf '# a comment\nbuild/\n*.log\n!keep.log\n/out\n' >.gitignore; mkfifo pipe; ln -s / everything; echo 'func Dash() {}' >-e
		seq -f "line %.0f" 300000 >many; printf '%01000d end\n' 0 >wide; touch "$(printf 'func\nx')"`)
	d.expect(d.search("pattern", `func \w+\(`), tool.Done, "-e:1: func Dash() {}\nkeep.log:1: func Kept() {}\nsrc/a.go:1: func One() {}\nsrc/a.go:3: func Two() {}\nsrc/deep/b.go:1: func Three() {}\n")
	d.expect(d.search("pattern", `(?i)FUNC t`, "path", "src"), tool.Done, "src/a.go:3: func Two() {}\nsrc/deep/b.go:1: func Three() {}\n")
	d.expect(d.search("pattern", "Hidden", "path", "build"), tool.Done, "build/h.go:1: func Hidden() {}\n")
	d.expect(d.search("pattern", "Logged", "path", "x.log"), tool.Done, "x.log:1: func Logged() {}\n")
	d.expect(d.search("pattern", "Hidden"), tool.Done, `[no line in . matches "Hidden"; what .gitignore names was not searched; give its path to search it]`)
	d.expect(d.search("pattern", "^line 7$", "path", "/work/many"), tool.Done, "many:7: line 7\n")
	d.expect(d.search("pattern", "--version"), tool.Done, `[no line in . matches "--version"; what .gitignore names was not searched; give its path to search it]`)
	if r := d.search("pattern", "line"); strings.Count(r.Output, "\n") != 100 || !strings.HasSuffix(r.Output, "\nmany:100: line 100\n[more lines match; these are the first 100: make the pattern narrower, or give a path]") {
		t.Errorf("%q", r.Output[max(0, len(r.Output)-300):])
	}
	d.expect(d.search("pattern", " end"), tool.Done, "wide:1: "+strings.Repeat("0", 300)+"...\n")
	d.expect(d.search("pattern", "f(", "path", "src"), tool.Failed, `"f(" is no regular expression: grep: `)
	d.expect(d.search("pattern", "x", "path", "gone"), tool.Failed, "there is no file gone")
	d.expect(d.search("pattern", " "), tool.Invalid, "pattern is empty")
	d.expect(d.search("pattern", "a\nb"), tool.Invalid, "line break")
	d.sh("printf '[z-a]\n' >.gitignore")
	d.expect(d.search("pattern", "Two"), tool.Done, "src/a.go:3: func Two() {}\n[.gitignore was left out of account, it has a pattern that is none;]")
}

func TestOutputsAreKept(t *testing.T) {
	d := desk{t, box(t)}
	tools, err := builtin.ForRole("judge", builtin.World{Box: d.box, Bench: &bench{}})
	if err != nil {
		t.Fatal(err)
	}
	r := d.call(tools[2], "command", "seq 1 20000")
	_, rest, _ := strings.Cut(r.Output, "all of it is in ")
	name, _, ok := strings.Cut(rest, "]")
	if !ok || len(r.Output) > 17<<10 || r.Bytes != int64(len(d.sh("seq 1 20000"))) {
		t.Fatalf("%d bytes: %.100q", len(r.Output), r.Output)
	}
	d.expect(d.read("path", name, "from", "19999"), tool.Done, fmt.Sprintf("[%s: lines 19999-20000 of 20000]\n19999\n20000\n", name))
}
