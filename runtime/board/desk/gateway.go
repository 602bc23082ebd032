package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dure/runtime/board"
)

// A gateway is one agent's.
type gateway struct {
	desk   *Desk
	agent  board.Agent
	member *member
}

var _ board.Gateway = (*gateway)(nil)

// Agent implements board.Gateway.
func (g *gateway) Agent() board.Agent { return g.agent }

// Do implements board.Gateway.
func (g *gateway) Do(ctx context.Context, s board.Statement) (board.Result, error) {
	return g.call(ctx, func() (Done, error) {
		if err := checkStatement(s, g.desk.cfg.Limits); err != nil {
			return Done{}, err
		}
		if board.IsCreate(s.SQL) {
			return g.create(ctx, s)
		}
		return g.desk.backend.Run(ctx, g.agent, s)
	})
}

func (g *gateway) create(ctx context.Context, s board.Statement) (Done, error) {
	if g.agent.Role != board.Lead {
		return Done{}, board.Refuse(board.ErrDenied, nil, "only the lead creates tables")
	}
	if len(s.Args) > 0 {
		return Done{}, board.Refuse(board.ErrStatement, nil, "create table takes no arguments")
	}
	t, err := board.ParseCreate(s.SQL)
	if err != nil {
		return Done{}, err
	}
	return g.desk.backend.Create(ctx, g.agent, t)
}

// Claim implements board.Gateway.
func (g *gateway) Claim(ctx context.Context, c board.Claim) (board.Result, error) {
	return g.call(ctx, func() (Done, error) { return g.desk.backend.Claim(ctx, g.agent, c) })
}

// call does what every counted call has in common.
func (g *gateway) call(ctx context.Context, do func() (Done, error)) (board.Result, error) {
	d := g.desk
	if err := d.enter(); err != nil {
		return board.Result{}, err
	}
	defer d.leave()
	leave, err := g.member.begin(d.cfg.Now())
	var done Done
	if err == nil {
		done, err = do()
		leave()
	}
	if uses := counted(g.agent.Name, done, err); len(uses) > 0 {
		if e := d.account.add(uses); e != nil {
			return board.Result{}, fmt.Errorf("account: %w", errors.Join(e, err))
		}
	}
	return done.Result, err
}

// Wait implements board.Gateway.
func (g *gateway) Wait(ctx context.Context, after uint64, limit time.Duration, tables ...string) (uint64, error) {
	d := g.desk
	if limit <= 0 || limit > d.cfg.Limits.Wait {
		limit = d.cfg.Limits.Wait
	}
	leave, err := g.member.beginWait()
	if err != nil {
		return 0, err
	}
	defer leave()
	return d.bell.wait(ctx, d.closing, after, limit, tables)
}

// Announced implements board.Gateway.
func (g *gateway) Announced(ctx context.Context) ([]board.Announcement, error) {
	if err := g.desk.enter(); err != nil {
		return nil, err
	}
	defer g.desk.leave()
	return g.desk.backend.Announced(ctx, g.agent, g.desk.cfg.Limits.Announced)
}

// Acknowledge implements board.Gateway.
func (g *gateway) Acknowledge(ctx context.Context, upto int64) error {
	if err := g.desk.enter(); err != nil {
		return err
	}
	defer g.desk.leave()
	return g.desk.backend.Acknowledge(ctx, g.agent, upto)
}

// checkStatement bounds what comes in, whatever it says.
func checkStatement(s board.Statement, l board.Limits) error {
	size := len(s.SQL)
	for i, a := range s.Args {
		switch a := a.(type) {
		case nil, bool, int64, float64:
			size += 8
		case string:
			size += len(a)
			if board.CheckText(a) != nil {
				return board.Refuse(board.ErrStatement, nil, "argument %d is not UTF-8 text without NUL", i+1)
			}
		default:
			return board.Refuse(board.ErrStatement, nil, "argument %d is a %T; want null, true or false, a number or a text", i+1, a)
		}
	}
	if size > l.Statement {
		return board.Refuse(board.ErrTooLarge, nil, "a statement with its arguments may have %d bytes, this one has %d", l.Statement, size)
	}
	if board.CheckText(s.SQL) != nil {
		return board.Refuse(board.ErrStatement, nil, "the statement is not UTF-8 text without NUL")
	}
	return nil
}
