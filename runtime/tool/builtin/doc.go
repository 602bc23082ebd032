// Package builtin holds the tools that every agent may have. Each is one Go file and
// one Markdown file, whose text is what models are told of it. It owns what they do;
// where they do it (a sandbox.Box) and whether they may (tool.Guard) is not its own.
//
// A tool may be used by one agent at a time, as an agent calls it. cmd and package
// swarm put a set together for each agent.
package builtin
