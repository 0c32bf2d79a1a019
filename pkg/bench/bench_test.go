package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestMain lets the test binary be the command that work runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "answer" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Every measurement runs on a few hundred rows and comes to figures. What they are is not looked at:
// so little, on a machine that does other things too, says nothing.
func TestEveryGoal(t *testing.T) {
	b, err := start(t.Context(), options{rounds: 1, shots: 2, lines: 300, drain: 300, streams: 2, big: 500, few: 50, held: 200, lapsed: 1200,
		spell: 200 * time.Millisecond, small: true, note: io.Discard,
		dir: pgtest.Dir(t), bin: t.TempDir()}) // a server that outlives a killed test is stopped; what lies there may not be executable
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, g := range goals() {
		t.Run(g.name, func(t *testing.T) {
			list, err := g.run(b, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				t.Error("no figures")
			}
			for _, f := range list {
				if f.Rounds == 0 || f.Value <= 0 {
					t.Errorf("%s: %v of %d rounds", f.What, f.Value, f.Rounds)
				}
			}
		})
	}
	m, err := b.machine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := "fsync=on"; !slices.Contains(strings.Fields(m.Server), want) {
		t.Errorf("the server is not durable: %s", m.Server)
	}
}

func TestFigures(t *testing.T) {
	s := samples{"ours": {1, 4, 9}, "theirs": {2, 2, 3}}
	f := s.ratio("1", "ours / theirs", "ms", "ours", "theirs").atMost(2.5)
	if f.Value != 2 || f.Low != 0.5 || f.High != 3 || !*f.Met || f.Target != "<= 2.5" {
		t.Errorf("figure is %+v", f)
	}
	if f = f.atLeast(2.1); *f.Met {
		t.Error("2 is at least 2.1")
	}
	if got := fmt.Sprint(quantile([]float64{1, 2, 3, 4, 5}, 0.95)); got != "4.8" {
		t.Errorf("p95 is %s", got)
	}
}
