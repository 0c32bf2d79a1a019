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
	Done string `json:"done"`
}

type flowLine struct {
	queue.Flow
	In     string `json:"in_per_second"`
	Out    string `json:"out_per_second"`
	Errors string `json:"error_percent"`
	Drains string `json:"forecast"`
}

func newFlowLine(f queue.Flow) flowLine {
	drains := strings.Replace(f.Forecast, "does not drain", "never", 1)
	drains = strings.Replace(drains, "drains in", "in", 1)
	return flowLine{f, rate(f.In, f.Estimated), rate(f.Out, f.Estimated), percent(f.Errors), drains}
}

// table says that people read the answer, on a terminal or not.
func (a *App) table() bool {
	f := a.Config.Value("output").Text
	return a.Flags.JQ == "" && (f == render.Table || f == render.Wide || f == "" && a.Streams.OutTTY)
}

func estimate(n int64, estimated bool) string {
	if estimated {
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
