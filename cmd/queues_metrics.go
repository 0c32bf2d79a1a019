package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// prometheus is an output form of queues alone: OpenMetrics text, for a textfile collector or a scrape.
const prometheus = "prometheus"

// family is one metric: a gauge, with its samples as labels and values.
type family struct {
	name, unit, help string
	samples          func(queue.Flow) []sample
}

type sample struct {
	labels [][2]string // beside the queue
	value  float64
}

func one(value float64) []sample { return []sample{{nil, value}} }

// zeroed is for ages: where nothing waits, the age is nought, and an alert that compares it ends.
func zeroed(n *float64) []sample {
	if n == nil {
		return one(0)
	}
	return one(*n)
}

func quantiles(p50, p95 *float64) []sample {
	if p50 == nil || p95 == nil {
		return nil
	}
	return []sample{{[][2]string{{"quantile", "0.5"}}, *p50}, {[][2]string{{"quantile", "0.95"}}, *p95}}
}

// families are the metrics; those of a window where one was asked for.
func families(window, exact bool) []family {
	list := []family{
		{"todoctl_todos", "", "Todos by queue and condition.", func(f queue.Flow) []sample {
			var all []sample
			for _, c := range []struct {
				name todo.Condition
				n    int64
			}{{todo.IsPending, f.Pending}, {todo.IsDelayed, f.Delayed}, {todo.IsClaimed, f.Claimed}, {todo.IsExpired, f.Expired},
				{todo.IsRetrying, f.Retrying}, {todo.IsDead, f.Dead}} {
				all = append(all, sample{[][2]string{{"condition", string(c.name)}}, float64(c.n)})
			}
			if exact {
				all = append(all, sample{[][2]string{{"condition", string(todo.IsDone)}}, float64(f.Done)})
			}
			return all
		}},
		{"todoctl_oldest_claimable_seconds", "seconds", "For how long the oldest claimable todo has been due.", func(f queue.Flow) []sample { return zeroed(f.OldestSeconds) }},
		{"todoctl_oldest_expired_lease_seconds", "seconds", "For how long the oldest lease that ran out has waited for a claim or a reap.",
			func(f queue.Flow) []sample { return zeroed(f.OldestExpiredSeconds) }},
		{"todoctl_todos_estimated", "", "1 while there are too many todos to count: live or dead ones are estimates.", func(f queue.Flow) []sample {
			if f.LiveEstimated || f.DeadEstimated {
				return one(1)
			}
			return one(0)
		}},
		{"todoctl_queue_paused", "", "1 while the queue is paused.", func(f queue.Flow) []sample {
			if f.Paused {
				return one(1)
			}
			return one(0)
		}},
	}
	if !window {
		return list
	}
	return append(list,
		family{"todoctl_in_per_second", "", "Todos that came in, over the window.", func(f queue.Flow) []sample { return one(f.In) }},
		family{"todoctl_out_per_second", "", "Todos that ended, over the window.", func(f queue.Flow) []sample { return one(f.Out) }},
		family{"todoctl_error_ratio", "ratio", "Leases that failed or ran out, of those that ended otherwise than by being given back, over the window.", func(f queue.Flow) []sample {
			if f.Errors == nil {
				return nil
			}
			return one(*f.Errors / 100)
		}},
		family{"todoctl_wait_seconds", "seconds", "From due to claimed, over the window.", func(f queue.Flow) []sample { return quantiles(f.WaitP50, f.WaitP95) }},
		family{"todoctl_run_seconds", "seconds", "From claimed to completed, over the window.", func(f queue.Flow) []sample { return quantiles(f.RunP50, f.RunP95) }},
		family{"todoctl_drain_seconds", "seconds", "Until nothing due or leased is left at this rate; no sample where it does not drain.", func(f queue.Flow) []sample {
			if f.DrainSeconds == nil {
				return nil
			}
			return one(*f.DrainSeconds)
		}})
}

// metrics is the answer as OpenMetrics text.
func metrics(list []queue.Flow, window, exact bool) []byte {
	var b bytes.Buffer
	for _, f := range families(window, exact) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n", f.name)
		if f.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, f.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n", f.name, f.help)
		for _, q := range list {
			for _, s := range f.samples(q) {
				fmt.Fprintf(&b, "%s{queue=\"%s\"", f.name, label(q.Queue))
				for _, l := range s.labels {
					fmt.Fprintf(&b, ",%s=\"%s\"", l[0], l[1])
				}
				fmt.Fprintf(&b, "} %s\n", strconv.FormatFloat(s.value, 'g', -1, 64))
			}
		}
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

func label(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) }

// replaceFile puts a file in its place whole: a collector that reads it meanwhile gets the old one or the new
// one, and when it cannot be written the old one stays.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is there any more when all went well
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644) // the collector runs as somebody else
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
