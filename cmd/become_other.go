//go:build !unix

package cmd

// become is not supported on this system.
func become(path string, _, _ []string) error { return usagef("cannot run %s on this system", path) }
