package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/runtime/vcs"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
	"dure/runtime/vcs/pack"
)

const mainRef = "refs/heads/main"

// rig is a repository, and the addresses that agents and anybody have.
type rig struct {
	repo    *vcs.Repository
	server  *Server
	base    object.ID
	refused []vcs.Refusal
	mu      sync.Mutex
}

func newRig(t *testing.T, opt Options, limits vcs.Limits, gate func(context.Context, string, []string) error) *rig {
	t.Helper()
	g := new(rig)
	program, err := git.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	repo, err := vcs.Init(t.Context(), filepath.Join(t.TempDir(), "r.git"), mainRef, vcs.Options{
		Limits: limits, Gate: gate, Git: program,
		Audit: func(x vcs.Refusal) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.refused = append(g.refused, x)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
		if out, err := tryGit(repo.Dir(), "fsck", "--strict", "--full", "--no-dangling"); err != nil || out != "" {
			t.Errorf("git fsck: %v %s", err, out)
		}
		left, err := filepath.Glob(filepath.Join(repo.Dir(), "dure", "*"))
		if err != nil || len(left) != 1 {
			t.Errorf("left in the folder: %v %v", left, err)
		}
	})
	g.repo, g.server = repo, New(repo, program, opt)
	d := repo.Draft()
	var changes []vcs.Change
	for i := range 40 {
		changes = append(changes, vcs.Change{Path: fmt.Sprintf("d%d/f%d", i%5, i), Mode: object.ModeFile, Data: []byte(strings.Repeat(fmt.Sprintf("line %d\n", i), 50))})
	}
	tree, err := d.Splice(t.Context(), object.Zero, changes)
	if err != nil {
		t.Fatal(err)
	}
	who := repo.Signature(vcs.Owner())
	if g.base, err = d.PutCommit(t.Context(), object.Commit{Tree: tree, Author: who, Committer: who, Message: "begin"}); err != nil {
		t.Fatal(err)
	}
	if err := repo.Apply(t.Context(), vcs.Owner(), d, vcs.Move{Ref: mainRef, New: g.base}); err != nil {
		t.Fatal(err)
	}
	return g
}

// record is what was refused since it was asked last.
func (g *rig) record() []vcs.Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.refused
	g.refused = nil
	return all
}

func agent(t *testing.T, name string) vcs.Actor {
	t.Helper()
	a, err := vcs.Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (g *rig) listen(t *testing.T, who vcs.Actor) string {
	t.Helper()
	s := httptest.NewServer(g.server.Handler(who))
	t.Cleanup(s.Close)
	return s.URL
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// cloneAs is a clone in which an agent works as itself.
func cloneAs(t *testing.T, url, name string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	gitIn(t, ".", append(args, "clone", "-q", url, dir)...)
	gitIn(t, dir, "config", "user.name", name)
	gitIn(t, dir, "config", "user.email", name+"@agents.invalid")
	return dir
}

func commitFile(t *testing.T, dir, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-q", "-m", "change "+path)
}

// An agent works with plain git while others commit as fast as they can.
func TestSessionWhileWritersRun(t *testing.T) {
	for _, version := range []string{"0", "2"} {
		t.Run("protocol "+version, func(t *testing.T) {
			g := newRig(t, Options{}, vcs.Limits{}, nil)
			ctx, stop := context.WithCancel(t.Context())
			var writers sync.WaitGroup
			for w := range 500 {
				writers.Go(func() { commitUntil(ctx, t, g, fmt.Sprintf("w%d", w)) })
			}
			defer writers.Wait()
			defer stop()
			set := "protocol.version=" + version
			url := g.listen(t, agent(t, "kim"))
			dir := cloneAs(t, url, "kim", "-c", set)
			if got := gitIn(t, dir, "log", "--format=%s"); got != "begin" {
				t.Errorf("git log: %s", got)
			}
			gitIn(t, dir, "switch", "-q", "-c", "work")
			for i := range 3 {
				commitFile(t, dir, "d1/f1", fmt.Sprintf("version %d\n", i))
				gitIn(t, dir, "-c", set, "push", "-q", "origin", "work:agent/kim")
				gitIn(t, dir, "-c", set, "fetch", "-q")
				if a, b := gitIn(t, dir, "rev-parse", "work"), gitIn(t, dir, "rev-parse", "origin/agent/kim"); a != b {
					t.Errorf("pushed %s, fetched %s", a, b)
				}
			}
			at, _ := g.repo.Ref(vcs.BranchOf("kim"))
			if got := gitIn(t, dir, "rev-parse", "work"); got != at.String() {
				t.Errorf("the branch is at %v, want %s", at, got)
			}
			for _, there := g.repo.Ref(vcs.BranchOf("w7")); !there; _, there = g.repo.Ref(vcs.BranchOf("w7")) {
				time.Sleep(time.Millisecond)
			}
			second := cloneAs(t, url, "second", "-c", set)
			if got := gitIn(t, second, "log", "--format=%an", "origin/agent/w7"); !strings.HasPrefix(got, "w7\n") {
				t.Errorf("the log of a writer's branch: %q", got)
			}
		})
	}
}

func commitUntil(ctx context.Context, t *testing.T, g *rig, name string) {
	a := agent(t, name)
	var at object.ID
	pause := time.Duration(0)
	for i := 0; ctx.Err() == nil; i++ {
		// At full speed the clones below would be of hundreds of thousands of commits.
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = time.Second
		}
		q := vcs.CommitRequest{Old: at, Message: "m", Changes: []vcs.Change{{Path: fmt.Sprintf("d%d/f%d", i%5, i%40), Mode: object.ModeFile, Data: fmt.Appendf(nil, "%s %d", name, i)}}}
		if at.IsZero() {
			q.Base = g.base
		}
		c, err := g.repo.CommitChanges(context.Background(), a, q)
		if err != nil {
			t.Error(err)
			return
		}
		at = c.Commit
	}
}

// A server that is meant for short calls does not cut git off.
func TestBehindShortLimits(t *testing.T) {
	g := newRig(t, Options{}, vcs.Limits{}, nil)
	s := httptest.NewUnstartedServer(g.server.Handler(agent(t, "kim")))
	s.Config.WriteTimeout = time.Nanosecond
	s.Start()
	t.Cleanup(s.Close)
	dir := cloneAs(t, s.URL, "kim")
	commitFile(t, dir, "d1/f1", "changed\n")
	gitIn(t, dir, "push", "-q", "origin", "HEAD:agent/kim")
	if at, _ := g.repo.Ref(vcs.BranchOf("kim")); gitIn(t, dir, "rev-parse", "HEAD") != at.String() {
		t.Errorf("the branch is at %v", at)
	}
}

// Each push brings a pack, most with deltas. They are merged, so that packs stay few.
func TestPacksOfPushesStayFew(t *testing.T) {
	g := newRig(t, Options{}, vcs.Limits{}, nil)
	dir := cloneAs(t, g.listen(t, agent(t, "kim")), "kim")
	most := 0
	for i := range 30 {
		commitFile(t, dir, "d1/f1", strings.Repeat(fmt.Sprintf("line %d\n", 1), 50)+fmt.Sprint(i))
		gitIn(t, dir, "push", "-q", "origin", "HEAD:agent/kim")
		for ends := time.Now().Add(time.Minute); g.repo.Stats().Packs > 20 && time.Now().Before(ends); {
			time.Sleep(10 * time.Millisecond)
			if err := g.repo.Publish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		most = max(most, g.repo.Stats().Packs)
	}
	if s := g.repo.Stats(); most > 20 || s.Repacks == 0 {
		t.Errorf("there were %d packs; %+v", most, s)
	}
	gitIn(t, ".", "clone", "-q", g.listen(t, vcs.Actor{}), filepath.Join(t.TempDir(), "anybody"))
}

// What agents may not push is refused, on the record, and moves nothing.
func TestRefusedPushes(t *testing.T) {
	blocked := errors.New("d1/f9 is blocked until split 12 has landed")
	g := newRig(t, Options{}, vcs.Limits{}, func(_ context.Context, _ string, paths []string) error {
		for _, p := range paths {
			if p == "d1/f9" {
				return blocked
			}
		}
		return nil
	})
	dir := cloneAs(t, g.listen(t, agent(t, "kim")), "kim")
	commitFile(t, dir, "d0/f0", "kim was here\n")
	for _, ref := range []string{"main", "agent/lee", "green", "refs/tags/v1"} {
		g.record()
		out, err := tryGit(dir, "push", "origin", "HEAD:"+ref)
		if err == nil || !strings.Contains(out, "an agent moves its own branch only") {
			t.Errorf("push to %s: %v %s", ref, err, out)
		}
		if refused := g.record(); len(refused) != 1 || !strings.HasSuffix(refused[0].Ref, ref) {
			t.Errorf("push to %s: the record has %v", ref, refused)
		}
	}
	if at, _ := g.repo.Ref(mainRef); at != g.base {
		t.Fatal("main has moved")
	}
	gitIn(t, dir, "push", "-q", "origin", "HEAD:agent/kim")
	out, err := tryGit(dir, "push", "--atomic", "origin", "+HEAD~:agent/kim", "HEAD:main")
	if at, _ := g.repo.Ref(vcs.BranchOf("kim")); err == nil || at == g.base {
		t.Errorf("half of an atomic push happened: %v %s", err, out)
	}
	out, err = tryGit(dir, "push", "origin", ":agent/kim")
	if err == nil || !strings.Contains(out, "does not delete") {
		t.Errorf("deleting the branch: %v %s", err, out)
	}
	gitIn(t, dir, "commit", "-q", "--amend", "--author", "Lee <lee@agents.invalid>", "-m", "by another")
	out, err = tryGit(dir, "push", "-f", "origin", "HEAD:agent/kim")
	if err == nil || !strings.Contains(out, "pushed by kim") {
		t.Errorf("a forged author: %v %s", err, out)
	}
	gitIn(t, dir, "reset", "-q", "--hard", "origin/main")
	commitFile(t, dir, "d1/f9", "a hot file\n")
	out, err = tryGit(dir, "push", "-f", "origin", "HEAD:agent/kim")
	if err == nil || !strings.Contains(out, blocked.Error()) {
		t.Errorf("a blocked path: %v %s", err, out)
	}
	nobody := g.listen(t, vcs.Actor{})
	if out, err := tryGit(dir, "push", nobody, "HEAD:agent/kim"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("a push where nobody pushes: %v %s", err, out)
	}
	gitIn(t, ".", "clone", "-q", nobody, filepath.Join(t.TempDir(), "anybody"))
}

// A made is objects for a pack made by hand, as no git client would send it.
type made struct {
	ids  []object.ID
	data [][]byte
	typ  []object.Type
}

func (m *made) add(t object.Type, data []byte) object.ID {
	id := object.Hash(t, data)
	m.ids, m.data, m.typ = append(m.ids, id), append(m.data, data), append(m.typ, t)
	return id
}

func (m *made) pack(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	b, err := pack.NewBuilder(&out, len(m.ids))
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range m.ids {
		if err := b.Add(id, pack.AppendEntry(nil, m.typ[i], m.data[i])); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pushRaw sends a pack and returns the answer.
func pushRaw(t *testing.T, url string, m vcs.Move, body []byte) string {
	t.Helper()
	text := packet(m.Old.String()+" "+m.New.String()+" "+m.Ref+"\x00report-status") + flushPacket
	resp, err := http.Post(url+"/git-receive-pack", "application/x-git-receive-pack-request", bytes.NewReader(append([]byte(text), body...)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func entry(mode, name string, id object.ID) []byte {
	return append([]byte(mode+" "+name+"\x00"), id[:]...)
}

// Trees that no git makes, and packs that are none, are refused, or kept as git
// keeps them; the folder stays clean for git fsck (which the rig runs at the end).
func TestHostilePushes(t *testing.T) {
	g := newRig(t, Options{MaxPush: 1 << 20, Timeout: 20 * time.Second}, vcs.Limits{Blob: 10_000}, nil)
	kim := agent(t, "kim")
	url := g.listen(t, kim)
	who := g.repo.Signature(kim)
	commit := func(m *made, tree object.ID) object.ID {
		return m.add(object.TypeCommit, object.FormatCommit(object.Commit{Tree: tree, Author: who, Committer: who, Message: "m\n"}))
	}
	blob := object.Hash(object.TypeBlob, []byte("x"))
	one := func(mode, name string) func(m *made) []byte {
		return func(m *made) []byte { return entry(mode, name, m.add(object.TypeBlob, []byte("x"))) }
	}
	for name, x := range map[string]struct {
		tree func(m *made) []byte
		ok   bool
	}{
		"a plain file":            {one("100644", "f"), true},
		"control bytes":           {one("100644", "a\x01\nb\x7f"), true},
		"not UTF-8":               {one("100644", "a\xff\xfe"), true},
		"a link out of the tree":  {func(m *made) []byte { return entry("120000", "l", m.add(object.TypeBlob, []byte("../../etc/passwd"))) }, true},
		"a submodule":             {func(*made) []byte { return entry("160000", "sub", object.ID{1}) }, true},
		"names differing by case": {func(m *made) []byte { return append(one("100644", "F")(m), entry("100644", "f", blob)...) }, true},
		".git":                    {one("100644", ".git"), false},
		".GiT":                    {one("100644", ".GiT"), false},
		"git~1":                   {one("100644", "git~1"), false},
		".git with a stream":      {one("100644", ".git::$INDEX_ALLOCATION"), false},
		".git with dots":          {one("100644", ".git . ."), false},
		".git with joiners":       {one("100644", ".g\u200cit"), false},
		"behind a backslash":      {one("100644", `a\.git`), false},
		"dot dot":                 {one("100644", ".."), false},
		"dot":                     {one("100644", "."), false},
		"a slash":                 {one("100644", "a/b"), false},
		"absolute":                {one("100644", "/etc"), false},
		"an empty name":           {one("100644", ""), false},
		"a name too long":         {one("100644", strings.Repeat("n", 256)), false},
		"a FIFO":                  {one("010644", "p"), false},
		"a device":                {one("20644", "p"), false},
		"group-writable":          {one("100664", "p"), false},
		"twice":                   {func(m *made) []byte { return append(one("100644", "f")(m), entry("100644", "f", blob)...) }, false},
		"file and folder": {func(m *made) []byte {
			return append(one("100644", "f")(m), entry("40000", "f", m.add(object.TypeTree, entry("100644", "g", blob)))...)
		}, false},
		"out of order":            {func(m *made) []byte { return append(one("100644", "z")(m), entry("100644", "a", blob)...) }, false},
		"cut off":                 {func(m *made) []byte { return one("100644", "f")(m)[:12] }, false},
		"a missing file":          {func(*made) []byte { return entry("100644", "f", object.ID{9}) }, false},
		"a missing folder":        {func(*made) []byte { return entry("40000", "f", object.ID{9}) }, false},
		"a folder that is a file": {one("40000", "f"), false},
		"a file too large":        {func(m *made) []byte { return entry("100644", "f", m.add(object.TypeBlob, make([]byte, 10_001))) }, false},
		".gitmodules is a link":   {one("120000", ".gitmodules"), false},
		".gitmodules runs things": {func(m *made) []byte {
			return entry("100644", ".gitmodules", m.add(object.TypeBlob, []byte("[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n")))
		}, false},
	} {
		m := new(made)
		at, _ := g.repo.Ref(kim.Branch())
		tip := commit(m, m.add(object.TypeTree, x.tree(m)))
		answer := pushRaw(t, url, vcs.Move{Ref: kim.Branch(), Old: at, New: tip}, m.pack(t))
		now, _ := g.repo.Ref(kim.Branch())
		if x.ok != (now == tip) || x.ok != strings.Contains(answer, "unpack ok") {
			t.Errorf("%s: %q", name, answer)
		}
		if !x.ok && now != at {
			t.Errorf("%s: the branch has moved", name)
		}
	}
}

func TestHostilePacks(t *testing.T) {
	g := newRig(t, Options{MaxPush: 1 << 20, MaxMemory: 256 << 20, Timeout: 20 * time.Second}, vcs.Limits{}, nil)
	kim := agent(t, "kim")
	url := g.listen(t, kim)
	who := g.repo.Signature(kim)
	good := new(made)
	tree := good.add(object.TypeTree, entry("100644", "f", good.add(object.TypeBlob, []byte("x"))))
	tip := good.add(object.TypeCommit, object.FormatCommit(object.Commit{Tree: tree, Author: who, Committer: who, Message: "m\n"}))
	whole := good.pack(t)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-30] ^= 1
	orphan := new(made)
	lost := orphan.add(object.TypeCommit, object.FormatCommit(object.Commit{Tree: tree, Parents: []object.ID{{5}}, Author: who, Committer: who, Message: "m\n"}))
	tagged := new(made)
	tag := tagged.add(object.TypeTag, []byte("object "+g.base.String()+"\ntype commit\ntag v\ntagger x <x@x> 1 +0000\n\nm\n"))
	noise := new(made)
	big := make([]byte, 2<<20)
	for i := range big {
		big[i] = byte(i * i >> 7)
	}
	for i := 0; i < len(big); i += 8 {
		binary.LittleEndian.PutUint64(big[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	noise.add(object.TypeBlob, big)
	for name, x := range map[string]struct {
		new  object.ID
		body []byte
	}{
		"nothing":               {tip, nil},
		"no pack":               {tip, []byte("hello, this is no pack at all")},
		"cut off":               {tip, whole[:len(whole)-25]},
		"a changed byte":        {tip, flipped},
		"bytes behind its end":  {object.ID{3}, append(bytes.Clone(whole), "more"...)},
		"another object's name": {object.ID{3}, whole},
		"a parent that is not":  {lost, orphan.pack(t)},
		"a tag":                 {tag, tagged.pack(t)},
		"a delta bomb":          {tip, bomb()},
		"longer than allowed":   {tip, noise.pack(t)},
	} {
		answer := pushRaw(t, url, vcs.Move{Ref: kim.Branch(), New: x.new}, x.body)
		if !strings.Contains(answer, "ng "+kim.Branch()) {
			t.Errorf("%s: %q", name, answer)
		}
		if _, there := g.repo.Ref(kim.Branch()); there {
			t.Fatalf("%s: the branch was made", name)
		}
	}
	if answer := pushRaw(t, url, vcs.Move{Ref: kim.Branch(), New: tip}, whole); !strings.Contains(answer, "ok "+kim.Branch()) {
		t.Errorf("the good one, at last: %q", answer)
	}
	for name, body := range map[string]string{"no length": "zzzz", "cut off": "0032abc", "no move": packet("hello") + flushPacket,
		"another hash": packet(object.Zero.String()+" "+tip.String()+" "+kim.Branch()+"\x00object-format=sha256") + flushPacket} {
		resp, err := http.Post(url+"/git-receive-pack", "application/x-git-receive-pack-request", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("commands: %s: status %d", name, resp.StatusCode)
		}
	}
}

// bomb is a pack of some hundred bytes whose delta makes half a gigabyte.
func bomb() []byte {
	base := bytes.Repeat([]byte("b"), 1<<16)
	id := object.Hash(object.TypeBlob, base)
	var delta []byte
	delta = binary.AppendUvarint(delta, uint64(len(base)))
	delta = binary.AppendUvarint(delta, 1<<29)
	for range 1 << 13 {
		delta = append(delta, 0x80) // copy 64 KiB from the beginning
	}
	var out bytes.Buffer
	b, _ := pack.NewBuilder(&out, 2)
	_ = b.Add(id, pack.AppendEntry(nil, object.TypeBlob, base))
	entry := pack.AppendEntry(nil, object.TypeTree, delta) // the header has the length; its type is replaced
	n := 1
	for entry[n-1]&0x80 != 0 {
		n++
	}
	head := append(bytes.Clone(entry[:n]), id[:]...)
	head[0] = head[0]&^0x70 | 7<<4
	_ = b.Add(object.ID{1}, append(head, entry[n:]...))
	_, _, _ = b.Finish()
	return out.Bytes()
}

// The same over an agent's unix socket; the socket says who it is.
func TestUnixSocket(t *testing.T) {
	g := newRig(t, Options{}, vcs.Limits{}, nil)
	dir, err := os.MkdirTemp("", "vcs") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: g.server.Handler(agent(t, "kim"))}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	resp, err := client.Get("http://agent/info/refs?service=git-receive-pack")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(resp.Body); err != nil || !strings.Contains(out.String(), g.base.String()+" "+mainRef) {
		t.Errorf("%q %v", out.String(), err)
	}
	resp, err = client.Get("http://agent/info/refs?service=other")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("an unknown service: %d", resp.StatusCode)
	}
}
