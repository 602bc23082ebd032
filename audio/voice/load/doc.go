// Package load puts sessions of package voice under load and measures them: persons with
// microphones that send 20 ms at a time, speak, listen and interrupt, on the real clock,
// with scripted engines that take a realistic time and no processor.
//
// It owns no server and no engine. `dure bench voice` and benchmarks call it; its figures are
// those of the package's own clock and ledger, checked at the end.
package load
