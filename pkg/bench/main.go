// Command bench measures todoctl against its goals and beside its peers: one private, fully durable
// PostgreSQL, both sides of each ratio in turns, and the median of the rounds' ratios. What else the
// machine does then falls on both sides.
//
//	go run . -only 1,3 -rounds 5        # from pkg/bench
//	go run . -rows 20000 -big 100000    # small, for a first look
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the sizes of a run.
type options struct {
	only    []string
	rounds  int
	shots   int           // one-shot commands in a round
	lines   int           // of a bulk enqueue
	streams int           // commands of work --stream
	drain   int           // todos that are drained in a round
	big     int           // rows of the large tables
	few     int           // rows of the small one
	held    int           // completions under a held snapshot
	lapsed  int           // leases that are reaped, rows that are pruned
	spell   time.Duration // of a measurement that has no end of its own
	small   bool          // a server for a quick look
	npm     bool          // with the peers that need node
	json    bool
	dir     string // of the server and of input files
	bin     string // of the program that is measured; "" is dir
	note    io.Writer
}

// goal is one of the measurements.
type goal struct {
	name string
	run  func(*bench, context.Context) ([]Figure, error)
}

// goals in the order in which they run. A name is a number of docs/performance.md, or a word.
func goals() []goal {
	return []goal{
		{"1", (*bench).oneShots}, {"3", (*bench).bulk}, {"3m", (*bench).bulkMemory}, {"4", (*bench).drains}, {"5", (*bench).coalesced}, {"6", (*bench).latency},
		{"7", (*bench).claims}, {"8", (*bench).heldSnapshot}, {"9", (*bench).readers}, {"10", (*bench).sweeps},
		{"work", (*bench).works}, {"wake", (*bench).wakes}, {"notify", (*bench).notifies}, {"scale", (*bench).scale},
	}
}

func main() { os.Exit(status()) }

// status measures, and returns the exit status.
func status() int {
	if len(os.Args) > 1 && os.Args[1] == "answer" { // the command that work runs for each stream
		var tell io.Writer
		if len(os.Args) > 2 && os.Args[2] == "--tell" {
			tell = os.Stderr
		}
		if err := answer(os.Stdin, os.Stdout, tell); err != nil {
			fmt.Fprintln(os.Stderr, "answer:", err)
			return 1
		}
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opt, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = run(ctx, opt, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func parse(args []string) (options, error) {
	o := options{note: os.Stderr}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := f.String("only", "", "goals to measure, as in 1,3,work; all where empty")
	f.IntVar(&o.rounds, "rounds", 5, "rounds of each measurement, in turns")
	f.IntVar(&o.shots, "shots", 40, "one-shot commands in a round")
	f.IntVar(&o.lines, "rows", 1_000_000, "lines of a bulk enqueue")
	f.IntVar(&o.drain, "drain", 100_000, "todos that are drained in a round")
	f.IntVar(&o.streams, "streams", 2, "commands of work --stream")
	f.IntVar(&o.big, "big", 10_000_000, "rows of the large tables; a tenth of it delayed or assigned")
	f.IntVar(&o.few, "few", 1000, "rows of the small table")
	f.IntVar(&o.held, "held", 500_000, "completions under a held snapshot")
	f.IntVar(&o.lapsed, "lapsed", 1_000_000, "leases that are reaped, and rows that are pruned")
	f.DurationVar(&o.spell, "spell", 3*time.Second, "length of a measurement that has no end of its own")
	f.BoolVar(&o.small, "small", false, "a server with little memory, for a quick look")
	f.BoolVar(&o.npm, "npm", true, "measure graphile-worker and pg-boss too; needs npm ci in node/")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.dir, "dir", "", "where the server's data goes; TMPDIR where empty")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	for _, name := range o.only {
		if !slices.ContainsFunc(goals(), func(g goal) bool { return g.name == name }) {
			return o, fmt.Errorf("-only: no goal %q", name)
		}
	}
	return o, nil
}

// run measures and prints. Figures that were measured are printed also when a later goal fails.
func run(ctx context.Context, opt options, out io.Writer) (err error) {
	b, err := start(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var list []Figure
	var faults []error
	for _, g := range goals() {
		if len(opt.only) > 0 && !slices.Contains(opt.only, g.name) || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		some, err := g.run(b, ctx)
		list = append(list, some...)
		if err != nil {
			faults = append(faults, fmt.Errorf("goal %s: %w", g.name, err))
		}
		b.note("goal %s: %.0f s", g.name, time.Since(began).Seconds())
	}
	m, err := b.machine(context.WithoutCancel(ctx))
	return errors.Join(append(faults, err, write(out, opt.json, m, list))...)
}

// note tells how far it is.
func (b *bench) note(format string, args ...any) {
	fmt.Fprintf(b.opt.note, "bench: "+format+"\n", args...)
}
