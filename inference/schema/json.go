package schema

import "dure/inference/schema/grammar"

// JSONValue is any JSON value, with the bounds and the white space of Compile.
func JSONValue() grammar.Expr { return newLexicon(false).value }

// JSONObject is any JSON object.
func JSONObject() grammar.Expr { return newLexicon(false).object }
