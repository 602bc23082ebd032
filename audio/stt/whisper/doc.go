// Package whisper recognises speech with the Whisper models, from weights in CTranslate2's
// format (model.bin, config.json, vocabulary.txt or vocabulary.json), any size of them,
// English only or multilingual.
//
// It owns everything between samples and text: the spectrogram, the model written as two
// ONNX graphs, the search for words, and the guards against the model's habit of making
// text up where there is no speech. It does not decide where an utterance ends. The
// process that serves the speech engines calls it.
//
// The same samples give the same text. A Model may be used by several goroutines at once.
package whisper
