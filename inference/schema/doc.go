// Package schema turns a JSON Schema into a grammar, so that a model can write only
// documents that fulfil the schema.
//
// It owns what the keywords mean, which of them can be guaranteed, and how JSON is
// written. It does not own how a grammar is followed (package grammar), what patterns
// match (package pattern), or what to do about keywords that are left to the caller.
//
// # The promise
//
// Every document of the grammar is valid against the schema (draft 2020-12; the older
// forms of items, exclusiveMinimum and definitions are read too). A keyword that no
// grammar can guarantee is an [*Error] that names it, its place, and what to write
// instead. With Options.Loose such keywords are listed instead, for a caller who
// validates the finished document.
//
// # What is understood
//
//   - $ref into the same document, recursive or not, $defs, definitions, $anchor
//   - type, enum, const, boolean schemas, OpenAPI's nullable
//   - allOf and anyOf, multiplied out; oneOf where the branches surely exclude each
//     other; not of types, strings and null
//   - properties, required, additionalProperties, patternProperties, propertyNames,
//     minProperties, maxProperties, unevaluatedProperties
//   - prefixItems, items, minItems, maxItems
//   - pattern (see package pattern), format, minLength, maxLength
//   - minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
//
// Refused: if, contains, dependentRequired and their kin, uniqueItems, unevaluatedItems,
// $dynamicRef, references to other documents. Unknown keywords say nothing by the
// standard; they are in Result.Ignored.
//
// # What is written
//
// Not every valid document is. Members come in the order of the schema's properties;
// those that it does not name come last, and only where it says something about them
// (additionalProperties and the like) or names none; towards minProperties they count
// as one, since their names may be the same. A schema without type is about the type
// that its keywords are about. Integers without bounds have up to 18 digits,
// fractions up to 17 more, exponents two; numbers with bounds have no exponent. Strings
// under a pattern, format or enum, and names, are written with the escapes that JSON
// requires and no others; those under a pattern and a maxLength have up to 4,096
// characters. Between tokens there may be one blank, or one line end and up
// to 40 blanks or tabs, where programs that print JSON put them: no answer is space
// without end.
//
// # Invariants
//
// Everything is pure. Size, nesting, alternatives and work are bounded: most schemas take
// a few milliseconds or less, the worst that are made to be slow two or three seconds.
//
// # Use
//
//	s, err := schema.Compile(raw, schema.Options{})
//	g, err := grammar.Compile(s.Grammar)
//
// or inside of a larger grammar:
//
//	g, err := grammar.Compile(grammar.Concat(grammar.Literal("<tool_call>\n"), s.Grammar, grammar.Literal("\n</tool_call>")))
//
// Surfaces compile schemas to refuse bad ones; package llm is the other user.
package schema
