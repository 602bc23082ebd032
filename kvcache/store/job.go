package store

import (
	"errors"
	"time"

	"dure/kvcache"
	"dure/kvcache/codec"
)

// Kind of a job.
type Kind uint8

const (
	// Write: make a file of Data.
	Write Kind = iota + 1
	// Read: fetch and verify the bytes.
	Read
	// Drop: remove the file. It is no error that there is none: a file that was
	// set aside is gone already.
	Drop
	// Change: code the object with the loss of Class. What has lost more already,
	// or would not get smaller, stays as it is.
	Change
)

func (k Kind) String() string { return [...]string{"", "write", "read", "drop", "change"}[k] }

var (
	// ErrBudget: the file would exceed the budget. Nothing was written.
	ErrBudget = errors.New("budget of the disk tier")
	// ErrBad: the object cannot be read. Its file is set aside, the object does
	// not exist any more: the tree is told so by Result.Bad.
	ErrBad = errors.New("stored object cannot be used")
	// ErrBusy: another job on the object is under way that excludes this one.
	ErrBusy = errors.New("object is in use by another job")
)

// Job is something to do with one object on disk.
type Job struct {
	Kind   Kind
	Object kvcache.ObjectID
	// Tag is the caller's, for example the action, and comes back.
	Tag uint64

	// Of a Write: the tokens from the root to the object's end, where its rows
	// begin, whether it holds the state at the end, and the tree's time. Path and
	// Data must not change until the job is done.
	Path  []kvcache.Token
	From  int
	State bool
	Last  kvcache.Tick

	// Data to write; of a Read, a slice whose room may be used, or nil.
	Data []byte
	// Class of a Write or Change; 0 is that of the Config.
	Class codec.Class
}

// Completion is what became of a job.
type Completion struct {
	Kind   Kind
	Object kvcache.ObjectID
	Tag    uint64
	Err    error
	// Data that was read: all of the object, verified. Nil after an error.
	Data []byte
	// Bytes of the file.
	Bytes int64
	// Class the object has in the file now: what was lost when it was coded.
	Class codec.Class
	// Took is how long it was worked on, without waiting in the queue.
	Took time.Duration
}

// Counts only grow.
type Counts struct {
	Written, Read, Dropped   int
	Changed                  int   // objects that lost more to become smaller
	BytesWritten, BytesCoded int64 // before and after the codec
	BytesRead                int64 // after decoding
	Failed                   int   // jobs that ended with an error
	Unfinished               int   // files that Open found half written
	Refused                  [reasons]int
	Adopted, NotAdopted      int // of what Open found
	WriteNanos, ReadNanos    int64
}

// Stats is the store at this moment.
type Stats struct {
	Counts
	Objects      int
	Used, Budget int64 // bytes of files, what is being written included
	Aside        int64 // bytes of refused files
	Queued       int   // jobs accepted and not handed back
	// Classes has what is held of each class, by codec.Class.
	Classes [codec.Calibrated + 1]Held
}

// Held is a number of objects and the bytes of their files.
type Held struct {
	Objects int
	Bytes   int64
}
