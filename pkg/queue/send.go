package queue

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todoctl/todoctl/db"
)

// send runs steps as one batch, without a name or prepared. pgx's own batches ask for the answers to unnamed
// statements as text; binary is half the work for a row with eight times in it.
func (c *Client) send(ctx context.Context, steps []step) error {
	var batch pgconn.Batch
	var build pgx.ExtendedQueryBuilder
	for _, s := range steps {
		if err := c.add(ctx, &batch, &build, s); err != nil {
			return err
		}
	}
	answers := c.conn.PgConn().ExecBatch(ctx, &batch)
	var unread error
	for i := 0; unread == nil && answers.NextResult(); i++ {
		unread = each(pgx.RowsFromResultReader(c.conn.TypeMap(), answers.ResultReader()), steps[i].row)
	}
	return cmp.Or(answers.Close(), unread) // the first tells of the server's errors too
}

func (c *Client) add(ctx context.Context, batch *pgconn.Batch, build *pgx.ExtendedQueryBuilder, s step) error {
	sql, values, err := c.bound(ctx, s)
	if err != nil {
		return err
	}
	var known *pgconn.StatementDescription
	if c.opt.Prepare && hot(s.name) {
		if known, err = c.conn.Prepare(ctx, s.name, sql); err != nil { // a turn of its own, once
			return err
		}
	}
	if err := build.Build(c.conn.TypeMap(), known, values); err != nil {
		return fmt.Errorf("statement %s: %w", s.name, err)
	}
	if known != nil {
		batch.ExecStatement(known, build.ParamValues, build.ParamFormats, build.ResultFormats)
	} else {
		batch.ExecParams(sql, build.ParamValues, nil, build.ParamFormats, []int16{pgx.BinaryFormatCode})
	}
	return nil
}

// bound is a statement with its parameters in the order of their places.
func (c *Client) bound(ctx context.Context, s step) (sql string, values []any, err error) {
	if sql, err = statement(s.name); err == nil && s.args != nil {
		sql, values, err = s.args.RewriteQuery(ctx, c.conn, sql, nil)
	}
	if err != nil {
		return "", nil, fmt.Errorf("statement %s: %w", s.name, err)
	}
	return sql, values, nil
}

func statement(name string) (string, error) {
	b, err := db.Queries.ReadFile("queries/" + name + ".sql")
	return string(b), err
}
