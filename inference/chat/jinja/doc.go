// Package jinja renders Jinja2 templates as chat templates use them, within
// limits that no template can leave.
//
// It owns the language: lexer, parser, values with Python's semantics, filters,
// tests and methods, as jinja2 3.1 defines them in the configuration of Hugging
// Face's transformers (ImmutableSandboxedEnvironment, trim_blocks,
// lstrip_blocks, loop controls, the generation tag, transformers' tojson). It
// does not own what a template is rendered with: chat hands in messages and
// functions such as raise_exception.
//
// Invariants:
//   - A template is hostile until rendered: it came with a downloaded file. It
//     can read nothing but the values it is given, change none of them, and
//     every step, byte and level of nesting it uses is counted against Limits.
//     Nothing here recurses without a bound, because Go cannot recover from an
//     exhausted stack.
//   - What this package does not know is an error, at compile time where Python
//     would also fail then. It never renders something else instead.
//   - Values are immutable once a template can see them (namespaces excepted),
//     so that slices and dictionaries are shared rather than copied.
//
// The package is pure: no goroutine, no I/O, no clock. A compiled Template may
// be rendered by many goroutines at a time. Only package chat uses it.
//
// Known differences from Python. Refused here: calculating with integers beyond
// 64 bits; printing functions and generators, which print an address there;
// \N{...} in strings; lipsum(); int of digits other than 0 to 9; find and index
// with a start; sort by several attributes; parts of values in str.format; the
// filters random, urlize, xmlattr, striptags, wordwrap, filesizeformat,
// forceescape and pprint; the tags include, import, from, extends, block,
// autoescape and trans. Different: the last digit of some powers of floats, and
// capitals of rare letters that become several (Greek with iota below).
package jinja
