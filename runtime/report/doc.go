// Package report tells what a run did, from its log alone. It owns the sums, the curves
// and their form as JSON and as one page of HTML. It reads events of all packages of the
// runtime and changes nothing; the same log gives the same bytes.
//
// cmd calls it.
package report
