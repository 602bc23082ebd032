// Package prefix is the prefix cache of one context: it asks the tree (package
// kvcache) what to reuse, keep and move, and carries that out on the engine and
// on the tiers below it.
//
// It decides nothing of its own. The tree hands out actions; each is here a few
// calls of the engine in an order that gives back exactly what was computed:
//
//	fork, unified    cells of [0, p) are shared; then the state of p, if the
//	                 other sequence stands further on
//	fork, split      bytes of the other sequence, cut to [0, p), are set
//	restore          saved rows and state are joined and set; on top of cells
//	                 that another sequence holds, through the spare sequence
//	cut back         the state of p first, then the rows behind it are dropped
//	save             bytes are read and cut where the tree says
//
// Invariants: after a failed action its sequence is empty; bytes are parsed
// before the engine gets them; whatever was handed out by the tree is reported
// to it once.
//
// A Cache belongs to the goroutine that owns the context. Reading and writing
// files happens on goroutines of the store; Completed takes their results.
package prefix
