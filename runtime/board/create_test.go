package board

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseCreate(t *testing.T) {
	got, err := ParseCreate("CREATE TABLE \"lemmas\" ( name TEXT NOT NULL, -- its name\n weight double default -1.5e3, n int default 7 not null, tag text default 'it''s', x text default null );")
	want := Table{Name: "lemmas", Columns: []Column{
		{Name: "name", Type: Text, Required: true}, {Name: "weight", Type: Real, Default: -1500.0},
		{Name: "n", Type: Integer, Required: true, Default: int64(7)}, {Name: "tag", Type: Text, Default: "it's"}, {Name: "x", Type: Text},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for sql, reason := range map[string]error{
		"create table t (a text) strict":                               ErrDenied,
		"create table t (a text check (a > ''))":                       ErrDenied,
		"create table t (a text, primary key (a))":                     ErrStatement,
		"create table t (a text default current_time)":                 ErrDenied,
		"create table t (a text":                                       ErrDenied,
		"create table t (a text default 'x":                            ErrStatement,
		"create table t (a integer default 99999999999999999999)":      ErrStatement,
		"create table t (a text default 1)":                            ErrStatement,
		"create table select (a text)":                                 ErrStatement,
		"create table t (\"a b\" text)":                                ErrStatement,
		"create table t (A text, a text)":                              ErrStatement,
		"create table t (state text, crew text)":                       ErrStatement,
		"create table t (" + strings.Repeat("a text, ", 60) + "b int)": ErrStatement,
	} {
		if _, err := ParseCreate(sql); !errors.Is(err, reason) {
			t.Errorf("%.60s: %v, want %v", sql, err, reason)
		}
	}
}

// A table that is taken survives its event, and is one that Check takes.
func FuzzParseCreate(f *testing.F) {
	for _, s := range []string{"create table t (a text not null default 'x')", "create table t (a real default -0.5e-3, b int)", "create/**/table t(a text);--", "create table t (a text default '''')"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		table, err := ParseCreate(sql)
		if err != nil {
			return
		}
		if !IsCreate(sql) {
			t.Errorf("%q is taken, and not seen as CREATE TABLE", sql)
		}
		if err := table.Check(); err != nil {
			t.Error(err)
		}
		data, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		var back Table
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, table) {
			t.Errorf("%+v became %+v, %v", table, back, err)
		}
	})
}

func TestStandardTables(t *testing.T) {
	for _, table := range Standard() {
		if err := table.Check(); err != nil {
			t.Error(err)
		}
		data, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		var back Table
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, table) {
			t.Errorf("%+v became %+v, %v", table, back, err)
		}
	}
}

func TestBlankAndFirst(t *testing.T) {
	for sql, first := range map[string]string{
		"": "", " ; -- x": "", "/* a */ SELECT 1": "select", "--\n--\nInsert": "insert", "\ufeffvacuum": "\ufeffvacuum", "(select 1)": "", ";select": "",
	} {
		if got := First(sql); got != first {
			t.Errorf("%q begins with %q, want %q", sql, got, first)
		}
	}
	for sql, blank := range map[string]bool{"": true, " ;; /* x */ -- y": true, "; x": false, "'": false, "/* x": true, "--": true} {
		if Blank(sql) != blank {
			t.Errorf("%q: blank is %t", sql, !blank)
		}
	}
}
