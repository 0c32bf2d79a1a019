package queue

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Export hands each todo that a filter matches to yield, with its history and its event, in id order. All
// of them are as they were at one moment; what is held in memory is one todo and a bounded list of ids.
// While it runs the server keeps that moment's rows from being cleaned up, so yield should not be slow.
// An error of yield ends it and is returned.
func (c *Client) Export(ctx context.Context, f Filter, scanned *Scanned, yield func(Shown) error) error {
	if err := errors.Join(c.ready(ctx), c.readable(ctx, f)); err != nil {
		return err
	}
	limit := f.ScanLimit
	if limit == 0 {
		limit = DefaultScanLimit
	}
	page := math.MaxInt32
	if !f.indexed() {
		page = limit
	}
	read, own := 0, error(nil)
	one := func(row pgx.CollectableRow) error {
		s, err := exported(row, scanned)
		read++
		if err != nil || s == nil {
			return err
		}
		own = yield(*s)
		return own
	}
	err := pgx.BeginTxFunc(ctx, c.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(t pgx.Tx) error {
		x := &tx{ctx: ctx, tx: t}
		if err := x.do(c.limits(ctx, off(without("export")...))); err != nil {
			return err
		}
		args := f.args("", 0, true)
		delete(args, "bodies")
		args["page"], args["ids"] = page, nil
		if name, few := f.lead(); few != nil {
			var ids []string
			if err := x.do(fewStep(name, few, &ids)); err != nil {
				return err
			}
			if ids = inOrder(ids, few); ids != nil {
				args["ids"] = ids
			}
		}
		return x.do(step{name: "export", args: args, row: one})
	})
	scanned.Short = !f.indexed() && read == limit
	if own != nil {
		return own
	}
	return dbconn.WithRole(dbconn.ReadError(ctx, err), c.conn.Config())
}

// exported reads one row; nil for one that the filters without an index refuse.
func exported(row pgx.CollectableRow, scanned *Scanned) (*Shown, error) {
	t, x, err := scan(row)
	if err != nil {
		return nil, err
	}
	scanned.Now = x.now
	if x.matched == nil || !*x.matched {
		return nil, nil
	}
	s := &Shown{Todo: t, History: []todo.Attempt{}}
	if x.history != nil {
		err = json.Unmarshal([]byte(*x.history), &s.History)
	}
	if x.event != nil {
		err = errors.Join(err, json.Unmarshal([]byte(*x.event), &s.Event))
	}
	return s, err
}
