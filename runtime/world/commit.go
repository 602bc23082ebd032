package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dure/runtime/sandbox"
	"dure/runtime/tool/builtin"
	"dure/runtime/vcs"
	"dure/runtime/vcs/harvest"
	"dure/runtime/vcs/land"
	"dure/runtime/vcs/object"
)

// ignoreTime bounds asking git for what is ignored.
const ignoreTime = time.Minute

// unfit reports whether an agent can mend why its changes cannot be committed.
func unfit(err error) bool {
	return errors.Is(err, harvest.ErrTooMuch) || errors.Is(err, land.ErrBlocked) || errors.Is(err, vcs.ErrTooLarge) ||
		errors.Is(err, vcs.ErrInvalid) || errors.Is(err, object.ErrPath) || errors.Is(err, errDiverged)
}

// committed is what came of a commit.
type committed struct {
	Commit object.ID
	// Changed is how many paths it changes; 0: there was nothing to commit, and Commit
	// is where the branch stands.
	Changed int
	LeftOut []string
}

// commit puts what an agent changed in its box onto its branch. Commands of the box must
// not run meanwhile.
func (w *World) commit(ctx context.Context, b *sandbox.Box, name string, base object.ID, message string) (committed, error) {
	out, err := w.commitOnce(ctx, b, name, base, message)
	if errors.Is(err, vcs.ErrStale) {
		// The agent pushed from its box meanwhile.
		out, err = w.commitOnce(ctx, b, name, base, message)
	}
	if err != nil {
		return out, fmt.Errorf("commit of %s: %w", name, err)
	}
	return out, nil
}

func (w *World) commitOnce(ctx context.Context, b *sandbox.Box, name string, base object.ID, message string) (out committed, err error) {
	actor, err := vcs.Agent(name)
	if err != nil {
		return out, err
	}
	head, ok := w.Repo.Ref(actor.Branch())
	if !ok {
		return out, errors.New("its branch is gone")
	}
	d := w.Repo.Draft()
	was, err := w.Repo.TreeAt(ctx, base)
	if err != nil {
		return out, err
	}
	dir, whole := b.Changes()
	h, err := harvest.Read(ctx, d, was, harvest.Folder{Dir: dir, Whole: whole}, harvest.Options{
		Limits: w.Repo.Limits(), Leave: []string{builtin.Stage}, Ignored: ignored(b),
	})
	if err != nil {
		return out, err
	}
	out = committed{Commit: head, LeftOut: h.LeftOut}
	now, err := w.Repo.TreeAt(ctx, head)
	if err != nil {
		return out, err
	}
	last, err := w.lastStand(ctx, head, base)
	if err != nil {
		return out, err
	}
	tree, err := w.combine(ctx, d, last, head, now, h.Tree)
	if err != nil || now == tree {
		return out, err
	}
	if err := w.Repo.Admit(ctx, actor, h.Paths); err != nil {
		return out, err
	}
	c := object.Commit{
		Tree: tree, Parents: []object.ID{head}, Message: saying(message, tree, h.Tree),
		Author: w.Repo.Signature(actor), Committer: w.Repo.Signature(vcs.Owner()),
	}
	if out.Commit, err = d.PutCommit(ctx, c); err != nil {
		return out, err
	}
	out.Changed = max(1, len(h.Paths))
	return out, w.Repo.Apply(ctx, actor, d, vcs.Move{Ref: actor.Branch(), Old: head, New: out.Commit})
}

// ignored asks git, in the box, which paths the rules there ignore: these are the
// agent's files, and what comes of it concerns the agent's own commit only.
func ignored(b *sandbox.Box) func(context.Context, []string) (map[string]bool, error) {
	return func(ctx context.Context, paths []string) (map[string]bool, error) {
		var said strings.Builder
		const script = `d=$(mktemp -d) && git init -q "$d" && GIT_DIR="$d/.git" GIT_WORK_TREE="$PWD" git -c core.excludesFile=/dev/null check-ignore -z --no-index --stdin; rm -rf "$d"`
		_, err := b.Run(ctx, sandbox.Cmd{
			Args: []string{"sh", "-c", script}, Stdin: strings.NewReader(strings.Join(paths, "\x00") + "\x00"),
			Stdout: &said, OutputCap: -1, Timeout: ignoreTime,
		})
		if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			return nil, err
		}
		out := map[string]bool{}
		for p := range strings.SplitSeq(said.String(), "\x00") {
			out[p] = p != ""
		}
		return out, nil
	}
}
