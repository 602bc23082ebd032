package sqlite

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"pgregory.net/rapid"
)

// LIKE, GLOB, instr, replace and trim say what SQLite's own say.
func TestFunctionsAsSQLite(t *testing.T) {
	plain, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	ours, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	c := &conn{Conn: ours, maxText: 1 << 20}
	c.clock.Context = t.Context()
	if err := c.functions(); err != nil {
		t.Fatal(err)
	}
	ask := func(c *sqlite3.Conn, sql string, args ...any) (out string) {
		if err := query(c, sql, func(s *sqlite3.Stmt) { out = s.ColumnText(0) }, args...); err != nil {
			return "error"
		}
		return out
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aAbBéé%_*?[]^-\\xyz")), 0, 12, -1)
	rapid.Check(t, func(rt *rapid.T) {
		a, b, d := text.Draw(rt, "a"), text.Draw(rt, "b"), text.Draw(rt, "c")
		for _, sql := range []string{
			"select ?1 like ?2 || substr(?3, 1, 0)", "select ?1 like ?2 escape '\\' || substr(?3, 1, 0)", "select ?1 glob ?2 || substr(?3, 1, 0)",
			"select instr(?1, ?2) || substr(?3, 1, 0)", "select replace(?1, ?2, ?3)", "select trim(?1, ?2) || substr(?3, 1, 0)",
			"select ltrim(?1, ?2) || '.' || rtrim(?1, ?2) || substr(?3, 1, 0)", "select instr(null, ?1 || ?2 || ?3)", "select 12 like ?1 || ?2 || ?3",
		} {
			if got, want := ask(ours, sql, a, b, d), ask(plain, sql, a, b, d); got != want {
				rt.Fatalf("%s with %q, %q, %q: got %q, SQLite says %q", sql, a, b, d, got, want)
			}
		}
	})
}

// However many stars, a pattern is matched in time that grows with the text only.
func TestPatternIsLinear(t *testing.T) {
	p := likePattern(strings.Repeat("%a", 120)+"b", 0)
	if p.match(strings.Repeat("a", 200_000)) {
		t.Error("matched")
	}
}
