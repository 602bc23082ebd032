// Package onnx runs ONNX models with the ONNX Runtime library, which it opens at run time.
//
// It owns the C boundary to that library: the table of functions, the life of its objects,
// and the check that the library is one whose table it knows. It does not know what a
// model is for. The speech engines (vad, stt, tts) call it, in the process that serves
// them: a fault in the library ends the process.
//
// Invariants: no pointer into Go's memory stays with the library after a call; every
// object is released once; a call with a cancelled context ends within one operator of the
// model. A Session may be run by several goroutines at once, a Value used by one.
package onnx
