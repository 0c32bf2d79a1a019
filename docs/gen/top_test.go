//go:build unix

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// The picture of top is what the program draws: the script that makes it makes one with the same lines.
func TestPictureOfTop(t *testing.T) {
	t.Parallel()
	s := newShell(t, pgtest.Database(t))
	fresh := filepath.Join(s.home(), "top.svg")
	script, err := filepath.Abs(filepath.Join(root, "docs/demo/top.sh"))
	if err != nil {
		t.Fatal(err)
	}
	s.run("sh", script, fresh, "6")
	text, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`>([^<]*(?:QUEUE|\? keys|todoctl top  \[)[^<]*)<`)
	clock := regexp.MustCompile(`\d\d:\d\d:\d\d`)
	words := func(svg string) (all []string) {
		for _, m := range lines.FindAllStringSubmatch(svg, -1) {
			all = append(all, clock.ReplaceAllString(m[1], "CLOCK"))
		}
		return all
	}
	stored := read(t, "docs/guide/top.svg")
	if got, want := strings.Join(words(string(text)), "\n"), strings.Join(words(stored), "\n"); got != want || strings.Count(got, "\n") != 2 {
		t.Errorf("docs/guide/top.svg is stale; run docs/demo/top.sh:\n%s\nit has:\n%s", got, want)
	}
	for _, svg := range []string{string(text), stored} {
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		for _, queue := range []string{"mail", "billing", "webhooks", "‖ thumbnails"} {
			if !strings.Contains(svg, ">"+queue+" ") {
				t.Errorf("no line of %s in %s", queue, svg)
			}
		}
	}
}
