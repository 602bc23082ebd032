package vcs

import (
	"context"
	"log/slog"
	"time"

	"dure/runtime/vcs/disk"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
)

// Options of a repository. The zero value has working defaults.
type Options struct {
	// Log hears what went wrong in the background. Default: nothing is logged.
	Log *slog.Logger
	// Disk is where files are. Default: the real one.
	Disk disk.FS
	// Audit is called for each refused move, before the refusal is returned, from the
	// goroutine that asked.
	Audit func(Refusal)
	// Gate is asked before an agent's commit or push takes these paths; its error
	// refuses them. From the goroutine that asked.
	Gate func(ctx context.Context, agent string, paths []string) error
	// Git merges packs with deltas, which pushes and imports bring, in the background.
	// With the zero one they stay as many as they are.
	Git git.Program
	// SealEvery is how long what is committed may stay unseen by plain git. Default 1 s.
	SealEvery time.Duration
	// Cache bounds the bytes of trees and commits kept in memory. Default 64 MiB.
	Cache int64
	// MailDomain follows the @ in the addresses of agents. Default "agents.invalid".
	MailDomain string
	// Clock stamps commits. Default time.Now.
	Clock  func() time.Time
	Limits Limits
}

// Limits bound what one commit may bring. Zero fields get the defaults.
type Limits struct {
	Blob    int64 // bytes of a file; default 100 MiB
	Commit  int64 // bytes of all files of a commit; default 512 MiB
	Paths   int   // changed paths of a commit; default 200,000
	Message int   // bytes of a message; default 1 MiB
}

// A Refusal is a move that was refused, for the record.
type Refusal struct {
	Actor    Actor
	Ref      string
	Old, New object.ID
	Why      string
}

func (o *Options) fill() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Disk == nil {
		o.Disk = disk.OS{}
	}
	if o.Audit == nil {
		o.Audit = func(Refusal) {}
	}
	if o.Gate == nil {
		o.Gate = func(context.Context, string, []string) error { return nil }
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	setDefault(&o.SealEvery, time.Second)
	setDefault(&o.Cache, 64<<20)
	setDefault(&o.MailDomain, "agents.invalid")
	setDefault(&o.Limits.Blob, 100<<20)
	setDefault(&o.Limits.Commit, 512<<20)
	setDefault(&o.Limits.Paths, 200_000)
	setDefault(&o.Limits.Message, 1<<20)
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
