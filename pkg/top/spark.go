package top

import "strings"

// kept is how many looks a course goes back.
const kept = 120

// course is how a queue went on, the newest last.
type course struct{ depth, in, out []float64 }

// note puts a value behind the others, and drops those that are too old.
func note(list []float64, v float64) []float64 {
	if len(list) == kept {
		copy(list, list[1:])
		list = list[:kept-1]
	}
	return append(list, v)
}

// recent is the mean of the last values: a rate that does not jump from look to look.
func recent(list []float64) float64 {
	last := list[max(0, len(list)-5):]
	if len(last) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range last {
		sum += v
	}
	return sum / float64(len(last))
}

// spark draws the last n values as blocks, from zero to the highest of them.
func spark(list []float64, n int) string {
	const blocks = "▁▂▃▄▅▆▇█"
	all := []rune(blocks)
	list = list[max(0, len(list)-n):]
	top := 0.0
	for _, v := range list {
		top = max(top, v)
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", n-len(list)))
	for _, v := range list {
		if v <= 0 || top <= 0 {
			b.WriteRune(all[0])
			continue
		}
		b.WriteRune(all[min(len(all)-1, int(v/top*float64(len(all)-1)+0.5))])
	}
	return b.String()
}
