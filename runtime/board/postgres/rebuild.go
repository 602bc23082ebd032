package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dure/runtime/board"
)

// rebuild removes all that was folded, and folds it again. What is beside the log as
// a part of it stays.
func (s *store) rebuild(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, s.owner, func(tx pgx.Tx) error {
		tables, err := loadTables(ctx, tx)
		if err != nil {
			return err
		}
		for name := range tables {
			if _, err := tx.Exec(ctx, "drop table board."+name); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "drop sequence dure_board."+name+"_id"); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "truncate dure_board.tables, dure_board.members, dure_board.uses")
		if err == nil {
			_, err = tx.Exec(ctx, "update dure_board.applied set sequence = 0")
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.catchUp(ctx)
	return err
}

// weigh sums up the bytes of each agent's rows.
func (s *store) weigh(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.owner, func(tx pgx.Tx) error {
		tables, err := loadTables(ctx, tx)
		if err != nil {
			return err
		}
		var parts []string
		for name, t := range tables {
			sizes := []string{"0"}
			for _, c := range t.cols[1:] {
				if c.Type == board.Text {
					sizes = append(sizes, fmt.Sprintf("coalesce(octet_length(%s), 0)", c.Name))
				} else {
					sizes = append(sizes, fmt.Sprintf("(case when %s is null then 0 else 8 end)", c.Name))
				}
			}
			parts = append(parts, fmt.Sprintf("select agent, sum(%s) as n from board.%s group by agent", strings.Join(sizes, " + "), name))
		}
		_, err = tx.Exec(ctx, "update dure_board.members m set stored = coalesce((select sum(n) from ("+strings.Join(parts, " union all ")+
			") x where x.agent = m.name), 0)")
		return err
	})
}
