package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/board"
	"dure/runtime/board/door"
)

// Exit codes of `dure sql`, so that a shell can tell what to do next.
const (
	sqlFailed    = 1 // the statement is wrong
	sqlUsage     = 2 // the command line is
	sqlDenied    = 3 // this agent may not do that
	sqlLimited   = 4 // too long, too large, quota or busy
	sqlDuplicate = 5 // done before, with this --id
	sqlNoBoard   = 6 // no board there, or it failed
)

// sqlOptions are what to call and how to print it.
type sqlOptions struct {
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

func sqlCommand() *cobra.Command {
	var opt sqlOptions
	cmd := &cobra.Command{
		Use:   "sql [STATEMENT]",
		Short: "Read and write the shared tables, as an agent of a swarm",
		Long: `Run one statement on the tables that the agents of a swarm share, through the socket
that DURE_SOCKET names. The statement comes from the standard input if it is - or
missing. --arg gives the value of a parameter, $1 first, as it is, without quotes.

Exit codes: 0 done, 1 the statement is wrong, 2 the command line is, 3 denied,
4 a limit (time, size, quota, busy), 5 done before with this --id, 6 no board.`,
		Example: `  dure sql --tables
  dure sql "select id, body from announce order by id desc limit 5"
  dure sql "insert into notes (topic, body) values (\$1, \$2)" --arg lexer --arg "it's ready"
  dure sql --claim subtasks
  dure sql --wait announce,subtasks --after 17`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MaximumNArgs(1)(cmd, args); err != nil {
				return &exitError{sqlUsage, err}
			}
			return nil
		},
		Run: func(cmd *cobra.Command, args []string) {
			ctx, stop := interruptible(cmd)
			defer stop()
			code := runSQL(ctx, args, opt, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			stop()
			if code != 0 {
				os.Exit(code)
			}
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{sqlUsage, err} })
	f := cmd.Flags()
	f.StringVar(&opt.socket, "socket", os.Getenv("DURE_SOCKET"), "the board's socket (default $DURE_SOCKET)")
	f.StringArrayVar(&opt.args, "arg", nil, "value of the next parameter, as text")
	f.BoolVar(&opt.argStdin, "arg-stdin", false, "the standard input is the value of the last parameter")
	f.StringVar(&opt.id, "id", "", "32 hexadecimal digits: a write that was done with it is not done again")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	f.StringVar(&opt.claim, "claim", "", "take the next open row of this table that is for you")
	f.StringVar(&opt.crew, "crew", "", "with --claim: a row of this crew instead of your own")
	f.StringVar(&opt.wait, "wait", "", "wait for a change to one of these tables (all: any table)")
	f.Uint64Var(&opt.after, "after", 0, "with --wait: the number of the change that you know")
	f.DurationVar(&opt.long, "for", 0, "with --wait: no longer than this (default as long as the board lets you)")
	f.BoolVar(&opt.tables, "tables", false, "describe the tables")
	return cmd
}

// runSQL makes one call and prints what came of it. It returns the exit code.
func runSQL(ctx context.Context, args []string, opt sqlOptions, in io.Reader, out, problems io.Writer) int {
	say := func(code int, err error) int {
		fmt.Fprintln(problems, "dure sql: "+err.Error())
		return code
	}
	call, err := opt.call(args, in)
	if err != nil {
		return say(sqlUsage, err)
	}
	if opt.socket == "" {
		return say(sqlNoBoard, errors.New("DURE_SOCKET is not set: it names the socket of the board; agents of a swarm have it, others give --socket"))
	}
	c := door.NewClient(opt.socket)
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
		return sqlDuplicate
	case !ok:
		return sqlNoBoard
	case kind == board.Denial:
		return sqlDenied
	case kind == board.Limit:
		return sqlLimited
	}
	return sqlFailed
}

// call is what the command line asks for.
func (o sqlOptions) call(args []string, in io.Reader) (func(context.Context, *door.Client, io.Writer) error, error) {
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

func (o sqlOptions) parseID() (board.ID, error) {
	if o.id == "" {
		return board.ID{}, nil
	}
	id, err := door.ParseID(o.id)
	if err != nil {
		return id, fmt.Errorf("--id: %w", err)
	}
	return id, nil
}

func (o sqlOptions) statement(args []string, in io.Reader) (board.Statement, error) {
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

func (o sqlOptions) waiting(ctx context.Context, c *door.Client, out io.Writer) error {
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

func (o sqlOptions) describe(ctx context.Context, c *door.Client, out io.Writer) error {
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
func (o sqlOptions) print(out io.Writer, r board.Result, err error) error {
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
			cells[i] = sqlCell(v)
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

// sqlCell is a value in one line. Nothing is cut.
func sqlCell(v any) string {
	if v == nil {
		return "NULL"
	}
	s := fmt.Sprint(v)
	return strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s)
}
