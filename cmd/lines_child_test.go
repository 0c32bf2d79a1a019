package cmd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// linesChild is a command for todos that come as lines, with --batch or --stream. For each todo it does what the title says,
// step by step: "say X" on descriptor 3, "print X" on stdout, "warn X" on stderr, with ID and RECEIPT in X filled in; "hang"; "deaf",
// which says done and reads no more; "exit N"; "later", which says done when the next todo has come. Without a title it says done.
func linesChild(in *os.File, answers, out io.Writer) int {
	lines := bufio.NewReader(in)
	later := ""
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var t struct{ ID, Receipt, Title string }
		if err := json.Unmarshal(line, &t); err != nil {
			fmt.Fprintln(os.Stderr, "not a todo:", err)
			return 65
		}
		fill := strings.NewReplacer("ID", t.ID, "RECEIPT", t.Receipt)
		if later != "" {
			fmt.Fprintln(answers, later)
			later = ""
		}
		for step := range strings.SplitSeq(t.Title, "; ") {
			verb, text, _ := strings.Cut(step, " ")
			text = fill.Replace(text)
			switch verb {
			case "":
				fmt.Fprintf(answers, "{\"receipt\":%q}\n", t.Receipt)
			case "say":
				fmt.Fprintln(answers, text)
			case "print":
				fmt.Fprintln(out, text)
			case "warn":
				fmt.Fprintln(os.Stderr, text)
			case "later":
				later = fmt.Sprintf("{\"receipt\":%q}", t.Receipt)
			case "hang":
				time.Sleep(time.Hour)
			case "deaf":
				in.Close()
				fmt.Fprintf(answers, "{\"receipt\":%q}\n", t.Receipt)
				time.Sleep(time.Hour)
			case "exit":
				code, _ := strconv.Atoi(text)
				return code
			}
		}
	}
}
