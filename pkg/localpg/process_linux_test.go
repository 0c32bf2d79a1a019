package localpg

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Where root may not see the working directory of another user, the arguments tell.
func TestArgumentsNameTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	cmdline := filepath.Join(t.TempDir(), "cmdline")
	for text, want := range map[string]bool{
		fmt.Sprintf("/bin/postgres\x00-D\x00%s\x00--port=1\x00", dir):   true,
		fmt.Sprintf("/bin/postgres\x00-D\x00%s\x00", link):              true,
		fmt.Sprintf("/bin/postgres\x00-D\x00%s/other\x00", dir):         false,
		fmt.Sprintf("/bin/postgres\x00-D\x00%s\x00", filepath.Dir(dir)): false,
		"": false, // it has ended and was not reaped
	} {
		if err := os.WriteFile(cmdline, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := argumentsName(cmdline, dir); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if argumentsName(filepath.Join(dir, "nosuch"), dir) {
		t.Error("a process that is gone counts as a postmaster")
	}
}
