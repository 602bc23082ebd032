// Package shell is the sql command of an agent's shell: it makes a call through a door
// (package door) of a command line, and text of what came of it. It owns the command's
// options, its exit codes, and how results are printed; what a call may do is for the
// board to say.
//
// cmd/client, which agents have in their boxes, and cmd/dure call it.
package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"dure/runtime/board"
	"dure/runtime/board/door"
)

// Exit codes, so that a shell can tell what to do next.
const (
	Failed    = 1 // the statement is wrong
	Usage     = 2 // the command line is
	Denied    = 3 // this agent may not do that
	Limited   = 4 // too long, too large, quota or busy
	Duplicate = 5 // done before, with this --id
	NoBoard   = 6 // no board there, or it failed
)

// Name of the command, as agents know it.
const Name = "sql"

// Help says what the command does.
const Help = `Run one statement on the tables that the agents of a swarm share, through the socket
that DURE_SOCKET names. The statement comes from the standard input if it is - or
missing. --arg gives the value of a parameter, $1 first, as it is, without quotes.

Exit codes: 0 done, 1 the statement is wrong, 2 the command line is, 3 denied,
4 a limit (time, size, quota, busy), 5 done before with this --id, 6 no board.`

// Examples are command lines, without the command's name.
var Examples = []string{
	"--tables",
	`"select id, body from announce order by id desc limit 5"`,
	`"insert into notes (topic, body) values (\$1, \$2)" --arg lexer --arg "it's ready"`,
	"--claim subtasks",
	"--wait announce,subtasks --after 17",
}

// Options are what to call and how to print it. Register fills them in.
type Options struct {
	// Name of the command, before what it says of problems.
	Name     string
	socket   string
	args     []string
	argStdin bool
	id       string
	asJSON   bool
	claim    string
	crew     string
	wait     string
	after    uint64
	long     time.Duration
	tables   bool
}

// Register adds the command's options to a set of flags. socket is the path of the
// agent's socket unless a flag names another.
func (o *Options) Register(f *pflag.FlagSet, socket string) {
	f.StringVar(&o.socket, "socket", socket, "the board's socket (default $DURE_SOCKET)")
	f.StringArrayVar(&o.args, "arg", nil, "value of the next parameter, as text")
	f.BoolVar(&o.argStdin, "arg-stdin", false, "the standard input is the value of the last parameter")
	f.StringVar(&o.id, "id", "", "32 hexadecimal digits: a write that was done with it is not done again")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	f.StringVar(&o.claim, "claim", "", "take the next open row of this table that is for you")
	f.StringVar(&o.crew, "crew", "", "with --claim: a row of this crew instead of your own")
	f.StringVar(&o.wait, "wait", "", "wait for a change to one of these tables (all: any table)")
	f.Uint64Var(&o.after, "after", 0, "with --wait: the number of the change that you know")
	f.DurationVar(&o.long, "for", 0, "with --wait: no longer than this (default as long as the board lets you)")
	f.BoolVar(&o.tables, "tables", false, "describe the tables")
}

// Run makes one call and prints what came of it. It returns the exit code.
func (o Options) Run(ctx context.Context, args []string, in io.Reader, out, problems io.Writer) int {
	say := func(code int, err error) int {
		fmt.Fprintln(problems, o.Name+": "+err.Error())
		return code
	}
	call, err := o.call(args, in)
	if err != nil {
		return say(Usage, err)
	}
	if o.socket == "" {
		return say(NoBoard, errors.New("DURE_SOCKET is not set: it names the socket of the board; agents of a swarm have it, others give --socket"))
	}
	c := door.NewClient(o.socket)
	defer c.Close()
	if err := call(ctx, c, out); err != nil {
		return say(exitCode(err), err)
	}
	return 0
}

func exitCode(err error) int {
	kind, ok := board.KindOf(err)
	switch {
	case errors.Is(err, board.ErrDuplicate):
		return Duplicate
	case !ok:
		return NoBoard
	case kind == board.Denial:
		return Denied
	case kind == board.Limit:
		return Limited
	}
	return Failed
}

// call is what the command line asks for.
func (o Options) call(args []string, in io.Reader) (func(context.Context, *door.Client, io.Writer) error, error) {
	asked := 0
	for _, yes := range []bool{o.claim != "", o.wait != "", o.tables, len(args) > 0} {
		if yes {
			asked++
		}
	}
	if asked > 1 {
		return nil, errors.New("a statement, --claim, --wait or --tables: one of them")
	}
	switch {
	case o.claim != "":
		id, err := o.parseID()
		return func(ctx context.Context, c *door.Client, out io.Writer) error {
			r, err := c.Claim(ctx, board.Claim{Table: o.claim, Crew: o.crew, ID: id})
			return o.print(out, r, err)
		}, err
	case o.wait != "":
		return o.waiting, nil
	case o.tables:
		return o.describe, nil
	}
	s, err := o.statement(args, in)
	return func(ctx context.Context, c *door.Client, out io.Writer) error {
		r, err := c.Do(ctx, s)
		return o.print(out, r, err)
	}, err
}

func (o Options) parseID() (board.ID, error) {
	if o.id == "" {
		return board.ID{}, nil
	}
	id, err := door.ParseID(o.id)
	if err != nil {
		return id, fmt.Errorf("--id: %w", err)
	}
	return id, nil
}

func (o Options) statement(args []string, in io.Reader) (board.Statement, error) {
	s := board.Statement{}
	for _, a := range o.args {
		s.Args = append(s.Args, a)
	}
	fromInput := len(args) == 0 || args[0] == "-"
	if fromInput && o.argStdin {
		return s, errors.New("--arg-stdin: the statement comes from the standard input already")
	}
	if fromInput || o.argStdin {
		data, err := io.ReadAll(io.LimitReader(in, door.MaxBody+1))
		if err != nil {
			return s, fmt.Errorf("read the standard input: %w", err)
		}
		if len(data) > door.MaxBody {
			return s, fmt.Errorf("the standard input has more than %d bytes", door.MaxBody)
		}
		if !fromInput {
			s.Args = append(s.Args, string(data))
		}
		s.SQL = string(data)
	}
	if !fromInput {
		s.SQL = args[0]
	}
	var err error
	s.ID, err = o.parseID()
	return s, err
}

func (o Options) waiting(ctx context.Context, c *door.Client, out io.Writer) error {
	var tables []string
	if o.wait != "all" {
		tables = strings.Split(o.wait, ",")
	}
	n, err := c.Wait(ctx, o.after, o.long, tables...)
	if err != nil {
		return err
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(door.Change{Change: n})
	}
	_, err = fmt.Fprintln(out, n)
	return err
}

func (o Options) describe(ctx context.Context, c *door.Client, out io.Writer) error {
	all, err := c.Tables(ctx)
	if err != nil {
		return err
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(all)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, t := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", t.Name, t.Doc)
		for _, col := range t.Columns {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", col.Name, col.Type, col.Doc)
		}
	}
	return w.Flush()
}

// print writes a result: a table for people and models, or JSON.
func (o Options) print(out io.Writer, r board.Result, err error) error {
	if err != nil {
		return err
	}
	if o.asJSON {
		data, err := door.EncodeResult(r)
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(r.Columns) > 0 {
		fmt.Fprintln(w, strings.Join(r.Columns, "\t"))
	}
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cell(v)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case r.Change > 0:
		fmt.Fprintf(&b, "%d changed (change %d)\n", r.Changed, r.Change)
	case len(r.Columns) == 0:
		fmt.Fprintf(&b, "%d changed\n", r.Changed)
	case len(r.Rows) == 0:
		b.WriteString("no rows\n")
	}
	_, err = out.Write(b.Bytes())
	return err
}

// cell is a value in one line. Nothing is cut.
func cell(v any) string {
	if v == nil {
		return "NULL"
	}
	s := fmt.Sprint(v)
	return strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s)
}
