// Package fetch brings pinned archives onto this machine with the ordinary
// package clients (npm pack, pip download), pinned files over HTTPS in ranges,
// and puts what is inside them in place so that a reader sees either nothing or
// the whole.
//
// It owns the folders downloads, tmp and lock of one home folder: verified
// archives and files, unfinished files (.part) with a note of what of them is
// there (.part.json), work in progress and the locks between processes. It does not know
// what an archive is good for; inference/library and inference/catalog say
// which archives they want and where the contents go.
//
// Invariants:
//   - a file in downloads is used only after its hash was compared with the pin;
//   - whatever is published was written in tmp, flushed to the disk and moved
//     into place by one rename;
//   - work under tmp belongs to the holder of the lock of the same name, so
//     what a killed process left behind is removed by the next holder;
//   - the note of an unfinished file never promises bytes that were not flushed
//     to the disk before it, and a file whose server now has another is begun
//     anew;
//   - a token goes to the server it is for only, and never into a message, a log
//     or a file;
//   - a client runs in its own process group and dies with its context and
//     with this process;
//   - an archive cannot write outside the folder it is unpacked into.
//
// Everything here blocks on disk and network: call it from commands, never from
// a goroutine that serves requests. Linux only. Safe for concurrent use by
// goroutines and processes.
package fetch
