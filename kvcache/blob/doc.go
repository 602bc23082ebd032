// Package blob reads, cuts, joins and writes the bytes in which the engine
// hands out the state of one sequence (llama_state_seq_get_data_ext of
// llama.cpp v0.5.0). Bytes in, bytes out: it calls no engine, opens no file and
// knows no tokens but those in the bytes.
//
// # What is in a blob
//
//	magic, sequence id
//	for each pool of keys and values:
//	    number of streams, for each of them:
//	        number of cells; if there are any:
//	            cells   position, 1, [x, y, token], sequence id
//	            transposed?, number of layers
//	            keys    for each layer: type, bytes of a row, rows
//	            values  for each layer: the same; or, transposed: type, bytes of
//	                    an element, channels, then channel by channel
//	recurrent part:
//	    number of cells (0 or 1), its position, 0
//	    0, number of layers of the model
//	    for each recurrent layer: type, bytes, state of its convolution
//	    for each recurrent layer: type, bytes, state of its delta network
//
// A plain model has one pool; a model with a sliding window two, the second of
// which has the cells of the window only; a hybrid one pool and a recurrent
// part. Integers are little-endian and packed. Nothing in the bytes says which
// of these forms they have, which layers are meant or which model they are of:
// that is a Layout, derived from the model's header (Of) and proven once for
// every context (Probe).
//
// # Rows and states
//
// Keys and values of a position stay what they are while the sequence goes on,
// so they can be cut and joined by position: Rows. A recurrent part, and the
// cells of a window, are those of the place where the sequence stood when they
// were read: State. They cannot be cut: a prefix needs a state that was read
// there. The engine does not notice when it is missing or of another place; this
// package refuses (ErrState).
//
//	b, err := Parse(layout, bytes, Whole)
//	trunk, err := b.Rows(0, 2000)            kept once
//	tail, err := b.Rows(2000, b.End())       kept for each agent
//	state := b.State()
//	whole, err := Join(layout, trunk, tail, state)
//	bytes = whole.Append(nil, Whole)         what the engine takes
//
// Where another sequence A holds the trunk in a unified pool, the rest goes on
// top of it: set Join(tail, state) into an empty sequence T, copy [0, 2000) of A
// and then [2000, end) of T to B, set the state into B as Partial, and drop T.
// The last step is not optional for models that have a state: a window that T
// brought reaches below 2000, and A's window may have moved on.
//
// # Invariants
//
//   - Append after Parse gives the same bytes.
//   - Every byte of the input is accounted for; what is left over is refused.
//   - No input makes Parse panic or allocate more than a fixed amount for each
//     layer: rows and cells stay where they are, a Blob only points to them. So
//     the input must not change while a Blob of it is in use.
//   - What Rows, Prefix, State and Join make is canonical: in the order of
//     positions, of sequence 0, in stream 0. The same rows give the same bytes
//     whatever slot they were read from.
//   - The engine takes what it can count and checks no more: bytes of another
//     model, of another rope scaling, with positions twice or bytes to spare.
//     Complete refuses the positions; the store above has to know the model.
//   - What the engine refuses may be left behind in part, or in full: whoever
//     sets a state removes the sequence after a refusal.
//
// Who calls it: the owner of a context, to carry out what the prefix tree
// decides, and the store, to check what it read. Blobs are values that are never
// changed; they may be used from several goroutines.
package blob
