// Package budget counts what a team's models are asked for and answer, in tokens and in
// money, and says when it has been enough. It owns prices, accounts and caps, the events
// that say which are in force (stream "budget" of the log), and the pause before a call
// that a cap does not allow. It owns no model, no endpoint and no person: who is asked
// is an interface.
//
//	Terms (budget.set) --+
//	agent.born, turned --+--> State --> Account per agent, role, run, cloud and local
//	                             |
//	Call -> Allow ---------------+--> go | wait for others | stop: a cap
//
// # What holds
//
//   - Accounts are made of the log alone: the same log, the same accounts. The sums over
//     agents, over roles, and of cloud and local are the run's, to the token and to the
//     millionth of a millionth of a dollar. All arithmetic is in whole numbers; only what
//     is shown is rounded, up.
//   - A turn costs what its role's price was when it was recorded.
//   - A call that goes on holds its estimate until it has ended. As long as no answer
//     takes more than its estimate, no number of calls at the same time goes over a cap.
//   - A cap ends nothing: the call is not made, the person is asked once for each cap,
//     and the call goes on when the terms allow it.
//   - What cannot be counted, an answer without usage or a role without a price, is
//     counted as that.
//
// State is pure and has one owner. Ledger may be used from any goroutine; it is the
// owner while a team runs. cmd opens it, wraps models in it, and gives it a person's
// decisions; reports fold a State themselves.
package budget
