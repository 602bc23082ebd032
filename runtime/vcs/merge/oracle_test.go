package merge

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
)

var (
	triples = flag.Int("triples", 1000, "generated triples to merge as git does")
	seed    = flag.Uint64("seed", 1, "of the generated triples")
	first   = flag.Int("first", 0, "the first of the generated triples")
	history = flag.Int("history", 300, "triples from the history of a repository")
	repo    = flag.String("repo", "", "the repository; this project's own if empty")
	keepBad = flag.String("keep", "", "folder for triples that differ")
)

// A triple is a base and what two sides made of it.
type triple struct {
	kind               string
	base, ours, theirs []byte
}

// gitMerge asks git. Conflicts are its count of them.
func gitMerge(t triple, dir string, args ...string) (out []byte, conflicts int, err error) {
	names := []string{"ours", "base", "theirs"}
	for i, data := range [][]byte{t.ours, t.base, t.theirs} {
		if err := os.WriteFile(filepath.Join(dir, names[i]), data, 0o600); err != nil {
			return nil, 0, err
		}
	}
	cmd := exec.Command("git", append(append([]string{"merge-file", "-p"}, args...), names...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_DIR="+dir)
	out, err = cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() > 127 {
			return nil, -1, nil // refused: binary
		}
		return out, exit.ExitCode(), nil
	}
	return out, 0, err
}

// differs says how our merge differs from git's; "" if it does not.
func differs(tr triple, dir string) (string, error) {
	for _, c := range []struct {
		grain Grain
		args  []string
	}{{Fine, nil}, {Whole, []string{"--diff3"}}} {
		want, conflicts, err := gitMerge(tr, dir, c.args...)
		if err != nil {
			return "", err
		}
		m, err := Text(tr.base, tr.ours, tr.theirs, c.grain, Limits{})
		switch {
		case errors.Is(err, ErrBinary) && conflicts == -1:
			continue
		case err != nil:
			return err.Error(), nil
		case conflicts == -1:
			return "git refuses, we do not", nil
		case min(m.Conflicts(), 127) != conflicts:
			return fmt.Sprintf("%v: %d conflicts, git has %d", c.args, m.Conflicts(), conflicts), nil
		}
		got := m.Render(Labels{"ours", "base", "theirs"}, c.grain)
		if !bytes.Equal(got, want) {
			return fmt.Sprintf("%v: other bytes", c.args), nil
		}
		if plain, ok := m.Bytes(); ok && !bytes.Equal(plain, want) {
			return "Bytes is not Render", nil
		}
	}
	return "", nil
}

// compareWithGit merges many triples and counts differences by kind.
func compareWithGit(t *testing.T, n int, next func(i int) triple) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("SKIPPED: no git here: %v", err)
	}
	var mu sync.Mutex
	seen, bad := map[string]int{}, map[string]int{}
	var wg sync.WaitGroup
	const workers = 2
	for w := range workers {
		dir := t.TempDir()
		wg.Go(func() {
			for i := w; i < n; i += workers {
				tr := next(i)
				how, err := differs(tr, dir)
				mu.Lock()
				seen[tr.kind]++
				if err != nil || how != "" {
					bad[tr.kind]++
					t.Errorf("triple %d (%s): %s %v", i, tr.kind, how, err)
					keepTriple(t, i, tr)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	kinds := make([]string, 0, len(seen))
	for k := range seen {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		t.Logf("%-10s %7d triples, %d differ from git", k, seen[k], bad[k])
	}
}

func keepTriple(t *testing.T, i int, tr triple) {
	if *keepBad == "" {
		return
	}
	for name, data := range map[string][]byte{"base": tr.base, "ours": tr.ours, "theirs": tr.theirs} {
		if err := os.WriteFile(filepath.Join(*keepBad, fmt.Sprintf("%d-%s", i, name)), data, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// Generated triples: every merge is git's, byte for byte.
func TestMergesAsGitDoes(t *testing.T) {
	// Triples that differed once.
	met := [][2]uint64{{13, 22076}}
	compareWithGit(t, *triples+len(met), func(i int) triple {
		if i -= len(met); i < 0 {
			return generate(rand.New(rand.NewPCG(met[-i-1][0], met[-i-1][1])))
		}
		return generate(rand.New(rand.NewPCG(*seed, uint64(*first+i))))
	})
}

// Triples of real files: versions of one file in the history, with an older or a
// newer one as base, so that there are real conflicts as well as real merges.
func TestMergesHistoryAsGitDoes(t *testing.T) {
	dir := *repo
	if dir == "" {
		out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
		if err != nil {
			t.Skipf("SKIPPED: no repository with a history here: %v", err)
		}
		dir = strings.TrimSpace(string(out))
	}
	all := realTriples(t, dir, *history)
	if len(all) < *history {
		t.Logf("the history of %s gives %d triples only", dir, len(all))
	}
	compareWithGit(t, len(all), func(i int) triple { return all[i] })
}

// realTriples reads the history of files: three versions each, in every order
// that makes a different merge.
func realTriples(t *testing.T, dir string, most int) []triple {
	t.Helper()
	out, err := exec.Command("git", "-C", dir, "log", "--first-parent", "--no-merges", "--raw", "--no-abbrev", "--format=", "--no-renames").Output()
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string][]string{} // path -> blobs, newest first
	var paths []string
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Fields(strings.TrimPrefix(line, ":"))
		if len(f) < 6 || f[4] != "M" && f[4] != "A" {
			continue
		}
		path := strings.SplitN(line, "\t", 2)[1]
		if versions[path] == nil {
			paths = append(paths, path)
		}
		versions[path] = append(versions[path], f[3])
	}
	sort.Strings(paths)
	r := rand.New(rand.NewPCG(*seed, 7))
	var picks [][3]string
	for _, p := range paths {
		v := versions[p]
		for i := 0; i+2 < len(v); i++ {
			j := i + 2 + r.IntN(min(len(v)-i-2, 6))
			mid := i + 1 + r.IntN(j-i-1)
			picks = append(picks, [3]string{v[mid], v[i], v[j]}, [3]string{v[j], v[i], v[mid]}, [3]string{v[i], v[j], v[mid]})
		}
	}
	r.Shuffle(len(picks), func(i, j int) { picks[i], picks[j] = picks[j], picks[i] })
	picks = picks[:min(most, len(picks))]
	blobs := readBlobs(t, dir, picks)
	all := make([]triple, len(picks))
	for i, p := range picks {
		all[i] = triple{"history", blobs[p[0]], blobs[p[1]], blobs[p[2]]}
	}
	return all
}

func readBlobs(t *testing.T, dir string, picks [][3]string) map[string][]byte {
	t.Helper()
	var ask bytes.Buffer
	blobs := map[string][]byte{}
	for _, p := range picks {
		for _, id := range p {
			if _, ok := blobs[id]; !ok {
				blobs[id] = nil
				fmt.Fprintln(&ask, id)
			}
		}
	}
	cmd := exec.Command("git", "-C", dir, "cat-file", "--batch")
	cmd.Stdin = &ask
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		var id, kind string
		var size int
		if _, err := fmt.Sscan(string(head), &id, &kind, &size); err != nil || size > len(rest) {
			t.Fatalf("cat-file says %q", head)
		}
		blobs[id], out = rest[:size], rest[size+1:]
	}
	return blobs
}
