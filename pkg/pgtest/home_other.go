//go:build !unix

package pgtest

import (
	"context"

	"github.com/todoctl/todoctl/pkg/localpg"
)

type home struct{ dir string }

func (h *home) remove() error { return nil }

func newHome() (*home, error) { return &home{}, localpg.Init(context.Background(), localpg.Options{}) }

func sweep(context.Context) {}

func startIn(ctx context.Context, _ *home, _ func(*localpg.Options)) (*localpg.Server, error) {
	return localpg.Start(ctx, localpg.Options{})
}
