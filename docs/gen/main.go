// Command gen writes every file that follows from the program itself: completions, man pages and the
// reference. It is run by go generate from the root of the repository. The same sources give the same
// bytes, on any day and any machine, so that CI can tell when a file is stale.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/cmd"
)

func main() {
	if err := generate("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes all files below root, and removes what an earlier run wrote and this one did not.
func generate(root string) error {
	tree := cmd.Root()
	tree.InitDefaultHelpCmd()
	tree.InitDefaultHelpFlag()
	files := map[string][]byte{}
	for _, part := range []func(*cobra.Command, map[string][]byte) error{
		completions, manual, commandPages, topics, tables, statements, index,
	} {
		if err := part(tree, files); err != nil {
			return err
		}
	}
	for _, dir := range []string{"completions", "docs/man", "docs/reference"} {
		if err := replace(root, dir, files); err != nil {
			return err
		}
	}
	return nil
}

// replace makes dir hold exactly its share of files.
func replace(root, dir string, files map[string][]byte) error {
	full := filepath.Join(root, filepath.FromSlash(dir))
	if err := os.MkdirAll(full, 0o755); err != nil {
		return err
	}
	present, err := os.ReadDir(full)
	if err != nil {
		return err
	}
	for _, f := range present {
		if _, wanted := files[dir+"/"+f.Name()]; !wanted && !f.IsDir() {
			if err := os.Remove(filepath.Join(full, f.Name())); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if strings.HasPrefix(name, dir+"/") {
			if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func completions(tree *cobra.Command, files map[string][]byte) error {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"todoctl.bash": func(b *bytes.Buffer) error { return tree.GenBashCompletionV2(b, true) },
		"_todoctl":     func(b *bytes.Buffer) error { return tree.GenZshCompletion(b) },
		"todoctl.fish": func(b *bytes.Buffer) error { return tree.GenFishCompletion(b, true) },
		"todoctl.ps1":  func(b *bytes.Buffer) error { return tree.GenPowerShellCompletionWithDesc(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files["completions/"+name] = b.Bytes()
	}
	return nil
}

// walk visits every command that a user can see, the root first, in help order.
func walk(c *cobra.Command, visit func(*cobra.Command) error) error {
	c.DisableAutoGenTag = true
	if err := visit(c); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := walk(sub, visit); err != nil {
			return err
		}
	}
	return nil
}
