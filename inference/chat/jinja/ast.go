package jinja

// An expr is evaluated, a stmt is executed; see the methods beside the
// machinery they need. Both only read themselves, so that a compiled template
// can be rendered by several goroutines.
type (
	expr interface{ eval(*frame) (Value, error) }
	stmt interface{ exec(*frame) error }
)

type (
	constant struct{ value Value }
	name     struct{ name string }
	hole     struct{} // the text of the block that a filter is applied to

	tupleExpr struct{ items []expr }
	listExpr  struct{ items []expr }
	dictExpr  struct{ keys, values []expr }

	unary struct {
		op tokenKind // + -
		x  expr
	}
	binary struct {
		op   tokenKind // + - * / // % **
		x, y expr
	}
	not      struct{ x expr }
	and      struct{ x, y expr }
	or       struct{ x, y expr }
	concat   struct{ items []expr }
	relation struct { // x < y, and in a chain the next compares y
		op string // == != < <= > >= in "not in"
		y  expr
	}
	comparison struct {
		x    expr
		rest []relation
	}
	conditional struct{ test, then, otherwise expr } // otherwise may be nil

	attribute struct {
		x    expr
		name string
	}
	item      struct{ x, key expr }
	sliceExpr struct{ start, stop, step expr } // each may be nil

	argument struct {
		name  string // of a keyword argument, or * or ** or nothing
		value expr
	}
	call struct {
		fn   expr
		args []argument
	}
	filterExpr struct {
		x    expr
		name string
		args []argument
	}
	testExpr struct {
		x    expr
		name string
		args []argument
	}
)

type (
	text   struct{ text string }
	output struct {
		line int
		x    expr
	}
	ifStmt struct {
		line      int
		test      expr
		body      []stmt
		otherwise []stmt
	}
	forStmt struct {
		line      int
		target    target
		iter      expr
		test      expr // may be nil
		recursive bool
		body      []stmt
		otherwise []stmt
	}
	setStmt struct {
		line   int
		target target
		value  expr
	}
	setBlock struct {
		line   int
		target target
		filter expr // over a hole, or the hole itself
		body   []stmt
	}
	macro struct {
		name                        string
		params                      []param
		body                        []stmt
		caller, usesVarargs, usesKw bool // which of the special names the body uses
	}
	macroStmt struct {
		line  int
		macro *macro
	}
	callStmt struct {
		line  int
		call  *call
		macro *macro // what caller() renders
	}
	filterBlock struct {
		line   int
		filter expr // over a hole
		body   []stmt
	}
	withStmt struct {
		line    int
		targets []target
		values  []expr
		body    []stmt
	}
	loopControl struct {
		line int
		err  error // errBreak or errContinue
	}
	param struct {
		name  string
		value expr // the default, or nil
	}
)

// target is what a value can be assigned to.
type target struct {
	name  string   // a variable, or the namespace that attr belongs to
	attr  string   // set for namespace.attr
	items []target // set for a tuple of targets
}
