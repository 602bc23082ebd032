// Package reuse plays a team of agents against one server on a clock of its own, and
// measures how much of their prompts need not be read again and how long their turns
// wait. The server's scheduler (sched) and prefix tree (kvcache) are the real ones; the
// engine is a list of prices. Two other ways to serve the same team stand beside it.
//
//	Ours    sched and kvcache: priorities, agents by turns, tiers below the slots
//	FIFO    in the order of arrival, into the slot that shares most, else the one used
//	        least recently; what leaves a slot is gone
//	CapOne  one agent at a time, to its end: what people set who see FIFO's cost
//
// It owns the load, the prices and the arithmetic. Where the others are simplified it is
// to their advantage: they may cut a state anywhere, and saving and restoring cost them
// nothing. A Report is the same for the same Load and Server. Only tests, and cmd for a
// benchmark, call it.
package reuse
