//go:build unix

package localpg

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/todo"
)

// fakeInstall makes a directory whose postgres says that it is of that version.
func fakeInstall(t *testing.T, dir, version string) string {
	t.Helper()
	writeScript(t, filepath.Join(dir, "postgres"), fmt.Sprintf("echo 'postgres (PostgreSQL) %s'", version))
	writeScript(t, filepath.Join(dir, "initdb"), "exit 1")
	return dir
}

func writeScript(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func wantError(t *testing.T, err error, code todo.Code, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one of code %s", code)
	}
	if got := todo.CodeOf(err); got != code {
		t.Errorf("code %s, want %s: %v", got, code, err)
	}
	text := err.Error()
	if e, ok := err.(*todo.Error); ok {
		text += "\n" + e.Hint
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("error does not say %q: %s", w, text)
		}
	}
}

func TestInstalledNewestFirst(t *testing.T) {
	root := t.TempDir()
	old := fakeInstall(t, filepath.Join(root, "lib", "9.6", "bin"), "9.6.24")
	mid := fakeInstall(t, filepath.Join(root, "lib", "14", "bin"), "14.2 (Debian 14.2-1)")
	beta := fakeInstall(t, filepath.Join(root, "beta"), "18beta1")
	bin := filepath.Join(root, "path")
	// One found by a link in PATH, one by pg_config, one by the pattern, and that one twice.
	writeScript(t, filepath.Join(bin, "pg_config"), "echo '"+beta+"'")
	if err := os.Symlink(filepath.Join(mid, "postgres"), filepath.Join(bin, "postgres")); err != nil {
		t.Fatal(err)
	}
	o := Options{Getenv: env("PATH", "relative:"+bin)}
	found, err := o.installed(context.Background(), []string{filepath.Join(root, "lib", "*", "bin")})
	if err != nil {
		t.Fatal(err)
	}
	want := []Binaries{{beta, "18beta1", 18}, {mid, "14.2", 14}, {old, "9.6.24", 9}}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

func TestInstalledIgnoresWhatIsNoServer(t *testing.T) {
	root := t.TempDir()
	client := filepath.Join(root, "client") // psql and pg_config alone
	writeScript(t, filepath.Join(client, "pg_config"), "echo '"+client+"'")
	broken := fakeInstall(t, filepath.Join(root, "broken"), "")
	_, err := Options{Getenv: env("PATH", client+":"+broken)}.installed(context.Background(), nil)
	wantError(t, err, todo.CodeUnavailable, "no PostgreSQL server is installed", "install", "TODOCTL_PG_BIN")
}

func TestNamedDirectoryWithoutServerIsUsage(t *testing.T) {
	dir := t.TempDir()
	_, err := Find(context.Background(), Options{BinDir: dir, DataDir: "/nonexistent"})
	wantError(t, err, todo.CodeUsage, "--pg-bin", dir)
	_, err = Find(context.Background(), Options{Getenv: env("TODOCTL_PG_BIN", dir), DataDir: "/nonexistent"})
	wantError(t, err, todo.CodeUsage, "TODOCTL_PG_BIN", dir)
}

func TestSearchThatWasInterruptedIsNotMissing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	bin := fakeInstall(t, t.TempDir(), "15.1")
	_, err := Options{Getenv: env("PATH", bin)}.installed(ctx, nil)
	wantError(t, err, todo.CodeInterrupted)
}

// The data directory decides the major version; another one must never touch it.
func TestFindByDataDirectory(t *testing.T) {
	root := t.TempDir()
	fakeInstall(t, filepath.Join(root, "16"), "16.4")
	fakeInstall(t, filepath.Join(root, "14"), "14.9")
	data := filepath.Join(root, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	o := Options{DataDir: data, Getenv: env("PATH", filepath.Join(root, "16")+":"+filepath.Join(root, "14"))}
	version := filepath.Join(data, "PG_VERSION")
	if err := os.WriteFile(version, []byte("14\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Find(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if b.Version != "14.9" {
		t.Errorf("took PostgreSQL %s for data of 14", b.Version)
	}
	if err := os.WriteFile(version, []byte("3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.BinDir = filepath.Join(root, "16")
	_, err = Find(context.Background(), o)
	wantError(t, err, todo.CodeUnavailable, "PostgreSQL 3,", "PostgreSQL 16.4", data)
}

func TestInstallLine(t *testing.T) {
	for _, c := range []struct{ goos, tool, want string }{
		{"linux", "/usr/bin/apt-get", "apt-get install postgresql"},
		{"linux", "/usr/bin/dnf", "dnf install postgresql-server"},
		{"linux", "/sbin/apk", "apk add postgresql"},
		{"darwin", "", "brew install postgresql"},
	} {
		got := installLine(c.goos, func(path string) bool { return path == c.tool })
		if !strings.Contains(got, c.want) || strings.Contains(got, " or ") {
			t.Errorf("%s with %s: %q, want %q alone", c.goos, c.tool, got, c.want)
		}
	}
	got := installLine("linux", func(string) bool { return false })
	for _, want := range []string{"apt-get", "dnf", "brew"} {
		if !strings.Contains(got, want) {
			t.Errorf("with no package manager: %q lacks %s", got, want)
		}
	}
}
