package sqlite

import (
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"
)

// maxPattern is the most bytes of a pattern of LIKE and GLOB.
const maxPattern = 256

// functions adds the board's own, and replaces those of SQLite that can take
// minutes within one step, where no clock is looked at: to search a text of n bytes
// for one of m, or with a pattern of m, takes it n*m. These are linear, or look at
// the clock themselves.
func (c *conn) functions() error {
	const pure = sqlite3.DETERMINISTIC | sqlite3.INNOCUOUS
	for _, f := range []struct {
		name string
		args int
		flag sqlite3.FunctionFlag
		run  func(ctx sqlite3.Context, arg []sqlite3.Value)
	}{
		{"me", 0, sqlite3.INNOCUOUS, func(ctx sqlite3.Context, _ []sqlite3.Value) { ctx.ResultText(c.caller.Name) }},
		{"my_crew", 0, sqlite3.INNOCUOUS, c.crew},
		{"utc", 0, sqlite3.INNOCUOUS, func(ctx sqlite3.Context, _ []sqlite3.Value) { ctx.ResultText(c.at) }},
		{"instr", 2, pure, instr},
		{"replace", 3, pure, c.replace},
		{"trim", 2, pure, trim(strings.Trim)},
		{"ltrim", 2, pure, trim(strings.TrimLeft)},
		{"rtrim", 2, pure, trim(strings.TrimRight)},
		{"like", 2, pure, c.like},
		{"like", 3, pure, c.like},
		{"glob", 2, pure, c.glob},
	} {
		err := c.CreateFunction(f.name, f.args, f.flag, func(ctx sqlite3.Context, arg ...sqlite3.Value) {
			for _, a := range arg {
				if a.Type() == sqlite3.NULL {
					ctx.ResultNull()
					return
				}
			}
			if c.clock.Err() != nil && len(arg) > 0 {
				ctx.ResultError(sqlite3.INTERRUPT)
				return
			}
			var err error
			func() {
				// Within SQLite: a panic must not leave from here.
				defer outOfMemory(&err)
				f.run(ctx, arg)
			}()
			if err != nil {
				ctx.ResultError(err)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) crew(ctx sqlite3.Context, _ []sqlite3.Value) {
	if c.caller.Crew == "" {
		ctx.ResultNull()
		return
	}
	ctx.ResultText(c.caller.Crew)
}

// instr counts characters from 1.
func instr(ctx sqlite3.Context, arg []sqlite3.Value) {
	text, part := arg[0].Text(), arg[1].Text()
	at := strings.Index(text, part)
	if at < 0 {
		ctx.ResultInt(0)
		return
	}
	ctx.ResultInt(utf8.RuneCountInString(text[:at]) + 1)
}

func (c *conn) replace(ctx sqlite3.Context, arg []sqlite3.Value) {
	text, from, to := arg[0].Text(), arg[1].Text(), arg[2].Text()
	if from == "" {
		ctx.ResultText(text)
		return
	}
	if n := strings.Count(text, from); len(text)+n*(len(to)-len(from)) > c.maxText {
		ctx.ResultError(sqlite3.TOOBIG)
		return
	}
	ctx.ResultText(strings.ReplaceAll(text, from, to))
}

// trim removes characters of a set. Go looks each up in the set, which must not be
// long then.
func trim(cut func(s, set string) string) func(sqlite3.Context, []sqlite3.Value) {
	return func(ctx sqlite3.Context, arg []sqlite3.Value) {
		set := arg[1].Text()
		if len(set) > maxPattern {
			ctx.ResultError(sqlite3.TOOBIG)
			return
		}
		ctx.ResultText(cut(arg[0].Text(), set))
	}
}

func (c *conn) like(ctx sqlite3.Context, arg []sqlite3.Value) {
	var escape rune
	if len(arg) == 3 {
		r, n := utf8.DecodeRuneInString(arg[2].Text())
		if n == 0 || n != len(arg[2].Text()) {
			ctx.ResultError(errEscape)
			return
		}
		escape = r
	}
	c.match(ctx, likePattern(arg[0].Text(), escape), arg)
}

func (c *conn) glob(ctx sqlite3.Context, arg []sqlite3.Value) {
	c.match(ctx, globPattern(arg[0].Text()), arg)
}

func (c *conn) match(ctx sqlite3.Context, p pattern, arg []sqlite3.Value) {
	if len(arg[0].RawText()) > maxPattern {
		ctx.ResultError(sqlite3.TOOBIG)
		return
	}
	ctx.ResultBool(p.match(arg[1].Text()))
}
