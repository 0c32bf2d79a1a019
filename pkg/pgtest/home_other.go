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

func prepare(context.Context, *home) (localpg.Options, error) {
	return localpg.Options{}, localpg.Init(context.Background(), localpg.Options{})
}
