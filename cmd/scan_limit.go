package cmd

import (
	"math"

	"github.com/spf13/cobra"
)

// scanLimit is how much a command reads that draws its figures from what is newest.
type scanLimit struct {
	rows  int
	exact bool
}

// flags adds --scan-limit and --exact.
func (l *scanLimit) flags(c *cobra.Command, standard int, limit, exact string) {
	c.Flags().IntVar(&l.rows, "scan-limit", standard, limit)
	c.Flags().BoolVar(&l.exact, "exact", false, exact)
}

// limit is how many rows to read at most.
func (l *scanLimit) limit() (int, error) {
	switch {
	case l.rows < 1:
		return 0, usagef("--scan-limit: %d is not a number of rows", l.rows)
	case l.exact:
		return math.MaxInt32, nil
	}
	return l.rows, nil
}
