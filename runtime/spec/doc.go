// Package spec reads a specification before a team does, and tells what the team would
// stumble over: goals without a check, checks that prove nothing, questions that are open,
// words that nobody can verify, files that are not there, goals that say the same or
// contradict each other, a text that no model holds.
//
// It owns what counts as a goal and as its check, and the rules. It runs nothing, reads no
// file and asks no model: what the repository holds, and what checks said there, is told
// to it (Facts). It is pure; the same input gives the same findings in the same order.
//
// # What is a goal
//
// An item of a list, or a section, of Markdown:
//
//	## Goals                       items of the list below a heading that speaks of goals
//	1. It adds numbers.            (requirements, tasks, acceptance, ...)
//	   Check: `sh tests/add.sh`    the command that decides about the goal
//
//	## 2. Reports                  in a text without such a heading: its sections,
//	...                            where at least one of them has a check
//	Check: `sh check.sh reports`
//
// # What holds
//
//   - Any bytes give an answer, in time about proportional to their number; a text that is
//     larger than MaxBytes is only told to be.
//   - A finding names its line, says why it matters and what to do about it.
//   - Findings are at most MaxFindings; that there were more is a finding too.
//
// cmd calls it, for `dure swarm plan`.
package spec
