package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/db"
)

// probe reads pg_stat_statements on a connection of its own: what the server spent on statements of
// the product, planning included. Wall time would measure what else the machine does.
type probe struct {
	conn  *pgx.Conn
	marks []string // patterns of the statements
}

// probe looks at the statements whose file names begin with one of the prefixes.
func (b *bench) probe(ctx context.Context, url string, prefixes ...string) (*probe, error) {
	files, err := db.Queries.ReadDir("queries")
	if err != nil {
		return nil, err
	}
	p := &probe{}
	for _, f := range files {
		for _, prefix := range prefixes {
			if !strings.HasPrefix(f.Name(), prefix) {
				continue
			}
			text, err := db.Queries.ReadFile("queries/" + f.Name())
			if err != nil {
				return nil, err
			}
			p.marks = append(p.marks, firstLine(string(text)))
		}
	}
	if len(p.marks) == 0 {
		return nil, fmt.Errorf("no statement is named %v", prefixes)
	}
	p.conn, err = pgx.Connect(ctx, url)
	return p, err
}

// firstLine is a pattern for statements that begin as this one does.
func firstLine(sql string) string {
	first, _, _ := strings.Cut(sql, "\n")
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(first) + "%"
}

func (p *probe) close(ctx context.Context) { _ = p.conn.Close(ctx) }

// spent is what these statements have cost so far, in ms, and how often they ran.
func (p *probe) spent(ctx context.Context) (total float64, calls int64, err error) {
	err = p.conn.QueryRow(ctx, `SELECT coalesce(sum(total_exec_time + total_plan_time), 0), coalesce(sum(calls), 0)::bigint
		FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
		WHERE d.datname = current_database() AND query LIKE ANY ($1::text[])`, p.marks).Scan(&total, &calls)
	return total, calls, err
}

// cost runs f and returns what the server spent on these statements meanwhile.
func (p *probe) cost(ctx context.Context, f func() error) (float64, error) {
	before, was, err := p.spent(ctx)
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, is, err := p.spent(ctx)
	if err == nil && is == was {
		err = fmt.Errorf("the statements did not run, or are not found by their first line: %q", p.marks)
	}
	return after - before, err
}

// costs runs f so many times and returns the cost of each.
func (p *probe) costs(ctx context.Context, n int, f func() error) ([]float64, error) {
	var list []float64
	for range n {
		v, err := p.cost(ctx, f)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
