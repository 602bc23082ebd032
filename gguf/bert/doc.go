// Package bert makes a GGUF file of a BERT that sentence-transformers has saved: a
// folder, or a zip of one, with config.json, tokenizer.json, 1_Pooling/config.json
// and model.safetensors. Models for embeddings are published like this.
//
// It owns the names on both sides and refuses what the engine would compute otherwise
// than the model was trained: another activation, other positions, a tokenizer that
// is not lower-case WordPiece, a tensor that it does not know.
//
// Invariants: the same files give the same bytes, so that a pinned hash of the GGUF
// file proves the conversion too; weights are read as F32 and matrices stored as F16,
// tables of positions and segments as they are. The whole file of weights is in
// memory meanwhile.
//
// Callers: inference/catalog when it pulls such a model.
package bert
