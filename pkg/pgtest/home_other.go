//go:build !unix

package pgtest

import (
	"context"

	"github.com/todoctl/todoctl/pkg/localpg"
)

type home struct{}

func (h *home) remove() {}

func startServer(ctx context.Context) (*home, *localpg.Server, error) {
	_, err := localpg.Start(ctx, localpg.Options{})
	return nil, nil, err
}
