// Package board is what the agents of a swarm share: five tables, those that the
// lead adds, and the ways in which an agent may use them. It owns the vocabulary
// (Board, Gateway, Table, Statement, the errors and limits), the events that the
// tables are made of, the one grammar of CREATE TABLE, and the canonical form of
// all tables. It keeps nothing and decides nothing about one statement: package
// desk is what every call passes, packages sqlite and postgres keep tables, door
// lets an agent in over its socket, and boardtest is the suite for all stores.
//
// # The log is the truth
//
// A write is a set of row changes. It is appended to the event log before it is
// acknowledged, and tables are a state folded from the log: what a crash took from
// them is applied again, and tables made anew from the log are equal, byte by byte
// in the form of Dump. Changes hold values, not SQL, so that no clock and no store
// matters when they are applied.
//
// # Who an agent is
//
// The harness joins an agent under its name, crew and role and gets a Gateway. An
// agent's calls come through its own Gateway and no other, so that nothing it says
// can change who it is. The columns that say who wrote a row, and when, are filled
// by the store. A statement that names another in them, or changes or removes what
// another wrote, is denied, whatever form its SQL has.
//
// # What holds
//
//   - A statement happens as a whole or not at all, and what was acknowledged is in
//     the log.
//   - Statements of all agents have one order, that of the log.
//   - A claim gives a row to one agent, and never to two.
//   - An agent gets each announcement once: Announced gives those that it has not
//     acknowledged, and Acknowledge is in the log before it returns.
//   - Every call is counted before it is answered, and Counts are made of the log.
//   - Whatever an agent sends, a statement ends within Limits, leaves nothing of
//     itself when it was refused, and the store goes on.
//
// cmd opens a board and hands gateways to the parts of the runtime. Everything in
// this package may be called from any goroutine.
package board
