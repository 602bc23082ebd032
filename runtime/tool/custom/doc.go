// Package custom makes tools of what a person describes: a name, a text for models,
// parameters, and a command. It owns the form of such a description and how arguments
// reach the command. Where the command runs (a box) and whether it may (tool.Guard)
// is not its own.
//
// # What holds
//
//   - A description is read strictly: what it says and is not understood is an error
//     that names it, and so is a name that a tool of dure has.
//   - The command gets the arguments as data: one JSON object on standard input, and
//     each in a variable DURE_ARG_NAME. None of them is ever a part of the command.
//   - The same description gives the same bytes of prompt.
//
// cmd reads descriptions and puts the tools behind those of package builtin.
package custom
