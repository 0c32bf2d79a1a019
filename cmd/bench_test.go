package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// benchmarkTodos is how many todos, or lines of xargs, one round handles.
const benchmarkTodos = 2000

// built is the program as it is released: the test binary itself would be measured otherwise.
func built(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "todoctl")
	c := exec.Command("go", "build", "-o", path, "github.com/todoctl/todoctl")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return path
}

func timed(b *testing.B, env []string, in string, argv ...string) time.Duration {
	b.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Env, c.Stdin = append(os.Environ(), env...), strings.NewReader(in)
	start := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return time.Since(start)
}

// BenchmarkWorkAgainstXargs runs true for each of 2,000 todos with work, and for each of 2,000 lines with
// xargs, in turns, and reports the ratio of the two rates: what a lease, its end and its history cost.
func BenchmarkWorkAgainstXargs(b *testing.B) {
	todoctl := built(b)
	url, drop, err := pgtest.DatabaseURL()
	if err != nil {
		b.Fatal(err)
	}
	defer drop()
	env := []string{"TODOCTL_DATABASE_URL=" + url, "TODOCTL_CONFIG=" + os.DevNull}
	lines := strings.Repeat(`{"payload":1}`+"\n", benchmarkTodos)
	var ours, theirs time.Duration
	for range b.N {
		timed(b, env, lines, todoctl, "enqueue", "-q", "bench", "--from", "-", "--quiet")
		ours += timed(b, env, "", todoctl, "work", "-q", "bench", "-c", "4", "--drain", "--quiet", "--", "true")
		theirs += timed(b, nil, numbers(benchmarkTodos), "xargs", "-n", "1", "-P", "4", "true")
	}
	b.ReportMetric(float64(benchmarkTodos*b.N)/ours.Seconds(), "todos/s")
	b.ReportMetric(float64(benchmarkTodos*b.N)/theirs.Seconds(), "xargs/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "of-xargs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOneShotAgainstPsql runs claim and complete as processes of their own, and psql with a
// statement that does nothing, in turns, and reports the ratios of the times.
func BenchmarkOneShotAgainstPsql(b *testing.B) {
	todoctl := built(b)
	psql, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
	if err != nil || len(psql) == 0 {
		b.Fatal("no psql beside the server's binaries; Debian's wrapper is not comparable")
	}
	url, drop, err := pgtest.DatabaseURL()
	if err != nil {
		b.Fatal(err)
	}
	defer drop()
	env := []string{"TODOCTL_DATABASE_URL=" + url, "TODOCTL_CONFIG=" + os.DevNull}
	timed(b, env, strings.Repeat(`{"payload":1}`+"\n", b.N+1), todoctl, "enqueue", "-q", "bench", "--from", "-", "--quiet")
	var claim, selectOne time.Duration
	for range b.N {
		claim += timed(b, env, "", todoctl, "claim", "-q", "bench", "-o", "receipt")
		selectOne += timed(b, nil, "", psql[len(psql)-1], "-Xqc", "select 1", url)
	}
	b.ReportMetric(claim.Seconds()*1000/float64(b.N), "claim-ms")
	b.ReportMetric(selectOne.Seconds()*1000/float64(b.N), "psql-ms")
	b.ReportMetric(claim.Seconds()/selectOne.Seconds(), "of-psql")
	b.ReportMetric(0, "ns/op")
}

func numbers(n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strconv.Itoa(i) + "\n")
	}
	return s.String()
}
