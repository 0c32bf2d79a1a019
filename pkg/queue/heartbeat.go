package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Heartbeat extends leases to ttl from now. A lease that ran out but that nobody took is extended too.
func (c *Client) Heartbeat(ctx context.Context, p LeaseParams, ttl time.Duration) ([]Result, error) {
	return c.lease(ctx, "heartbeat", p, ended{}, pgx.StrictNamedArgs{"ttl": ttl})
}
