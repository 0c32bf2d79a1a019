// Package worker makes a worker of any command: it claims todos, runs the command for each, renews
// the leases meanwhile, and writes down what came of it. A lease that is lost stops its command, and
// the outcome is not written.
//
// The map of exit codes is here for every system; the worker itself needs process groups and is there
// on Unix alone.
package worker
