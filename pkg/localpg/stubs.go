//go:build !unix

package localpg

import (
	"context"

	"github.com/todoctl/todoctl/pkg/todo"
)

func unsupported() error {
	return todo.Errorf(todo.CodeUsage, "a local server is not supported on this system").
		WithHint("name a database: --database-url URL")
}

// Start is not supported on this system.
func Start(context.Context, Options) (*Server, error) { return nil, unsupported() }

// Init is not supported on this system.
func Init(context.Context, Options) error { return unsupported() }

// Attach is not supported on this system.
func Attach(context.Context, Options) (*Server, error) { return nil, unsupported() }

// DefaultOptions is not supported on this system.
func DefaultOptions(func(string) string) (Options, error) { return Options{}, unsupported() }

// RunningURL reports that no local server runs.
func RunningURL(func(string) string) (string, bool) { return "", false }

// Stop is not supported on this system.
func (s *Server) Stop(context.Context) error { return unsupported() }

// Kill is not supported on this system.
func (s *Server) Kill(context.Context) error { return unsupported() }

// Stop is not supported on this system.
func Stop(context.Context, Options) (bool, error) { return false, unsupported() }

// Kill is not supported on this system.
func Kill(context.Context, string) error { return unsupported() }

// Status is not supported on this system.
func (o Options) Status() (Status, error) { return Status{}, unsupported() }

// InitArgs is not supported on this system.
func (o Options) InitArgs() []string { return nil }

// Lock is not supported on this system.
func Lock(context.Context, string) (func(), error) { return nil, unsupported() }
