package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestExportInBoundedMemory moves 128 MiB of payloads and measures that neither side holds them.
func TestExportInBoundedMemory(t *testing.T) {
	c, conn, _ := withDB(t)
	pgExec(t, conn, `INSERT INTO todos (queue, payload) SELECT 'q', to_jsonb(repeat('x', 4 << 20)) FROM generate_series(1, 32)`)
	file := filepath.Join(c.dir, "all.jsonl")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if mib := c.peak(out, "export"); mib > 100 {
		t.Errorf("export took %d MiB", mib)
	}
	if info, err := os.Stat(file); err != nil || info.Size() < 128<<20 {
		t.Fatalf("the file: %v %v", info, err)
	}
	pgExec(t, conn, "DELETE FROM todos")
	if mib := c.peak(nil, "import", "--yes", file); mib > 100 {
		t.Errorf("import took %d MiB", mib)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE length(payload::text) > 4 << 20"); n != 32 {
		t.Errorf("%d todos came in", n)
	}
}

// peak runs todoctl and returns how many MiB of memory it had at most.
func (c *cli) peak(out *os.File, args ...string) int64 {
	c.t.Helper()
	p := exec.Command(c.find("todoctl"), args...)
	p.Dir, p.Env, p.Stderr = c.dir, c.env, os.Stderr
	if out != nil {
		p.Stdout = out
	}
	if err := p.Run(); err != nil {
		c.t.Fatalf("todoctl %v: %v", args, err)
	}
	return p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
}
