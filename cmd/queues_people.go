package cmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

// tallyLine and flowLine are what people see of a queue: an estimate is marked, and numbers are rounded.
type tallyLine struct {
	queue.Tally
	countsLine
	Done string `json:"done"`
}

type countsLine struct {
	Pending  string `json:"pending"`
	Delayed  string `json:"delayed"`
	Claimed  string `json:"claimed"`
	Expired  string `json:"expired"`
	Retrying string `json:"retrying"`
	Dead     string `json:"dead"`
}

func newTallyLine(t queue.Tally) tallyLine {
	return tallyLine{t, newCountsLine(t.Counts), estimate(t.Done, t.DoneEstimated)}
}

func newCountsLine(q queue.Counts) countsLine {
	live := func(n int64) string { return estimate(n, q.LiveEstimated) }
	return countsLine{live(q.Pending), live(q.Delayed), live(q.Claimed), live(q.Expired), live(q.Retrying), estimate(q.Dead, q.DeadEstimated)}
}

type flowLine struct {
	queue.Flow
	countsLine
	In     string `json:"in_per_second"`
	Out    string `json:"out_per_second"`
	Errors string `json:"error_percent"`
	Drains string `json:"forecast"`
}

func newFlowLine(f queue.Flow) flowLine {
	drains := strings.Replace(f.Forecast, "does not drain", "never", 1)
	drains = strings.Replace(drains, "drains in", "in", 1)
	return flowLine{f, newCountsLine(f.Counts), rate(f.In, f.Estimated), rate(f.Out, f.Estimated), percent(f.Errors), drains}
}

// table says that people read the answer, on a terminal or not.
func (a *App) table() bool {
	f := a.Config.Value("output").Text
	return a.Flags.JQ == "" && (f == render.Table || f == render.Wide || f == "" && a.Streams.OutTTY)
}

// estimate marks what is one, and shows no more digits of it than fit a table.
func estimate(n int64, estimated bool) string {
	switch {
	case estimated && n >= 10_000_000:
		return fmt.Sprintf("~%dM", n/1_000_000)
	case estimated && n >= 10_000:
		return fmt.Sprintf("~%dk", n/1000)
	case estimated:
		return fmt.Sprintf("~%d", n)
	}
	return strconv.FormatInt(n, 10)
}

func rate(n float64, estimated bool) string {
	s := strconv.FormatFloat(n, 'g', 3, 64)
	if n >= 100 {
		s = strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	}
	if estimated {
		return "~" + s
	}
	return s
}

func percent(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', 1, 64)
}
