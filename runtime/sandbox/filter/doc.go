// Package filter is the ban on system calls that commands in a sandbox run under. It
// owns the list of what is allowed, the rules on arguments, and the program for the
// kernel that is made of them. It loads nothing: package sandbox makes the program once,
// and the helper of each box loads it.
//
// The filter is a list of what is allowed: a system call that a later kernel adds is
// refused until somebody has thought about it. It is put together here, and only the
// tables of numbers are a library's: a block that looks at arguments must end in a
// verdict, or what comes after it would compare an argument, which the caller chose,
// with the numbers of calls.
//
// It is pure, and called by package sandbox.
package filter
