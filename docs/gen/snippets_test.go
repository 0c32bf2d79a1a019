package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/cmd"
	"github.com/todoctl/todoctl/pkg/config"
)

const root = "../.."

// pages returns the text of every page that people read, by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/guide/*.md", "docs/demo/*.md", "docs/demo/inputs/*.md", "docs/reference/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.ToSlash(rel)] = read(t, filepath.ToSlash(rel))
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d pages found", len(all))
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the fenced blocks of a page in one language.
func blocks(page, language string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^[ ]*```"+language+"\n(.*?)^[ ]*```$").FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}

// Every todoctl command in the documentation and the examples names a command that exists, with flags
// that it has and arguments that it takes.
func TestCommandsInDocumentsExist(t *testing.T) {
	sources := map[string][]string{}
	for name, text := range pages(t) {
		sources[name] = blocks(text, "sh")
	}
	for _, name := range []string{"docs/demo/worker.sh", "docs/examples/worker.sh"} {
		sources[name] = []string{read(t, name)}
	}
	sources["docs/examples/todoctl-reap.service"] = matches(t, "docs/examples/todoctl-reap.service", `(?m)^ExecStart=/usr/bin/(todoctl .*)$`)
	sources["docs/examples/todoctl-reap.cron"] = matches(t, "docs/examples/todoctl-reap.cron", `(?m)^\* .* /usr/bin/(todoctl .*)$`)
	for _, args := range matches(t, "docs/examples/todoctl-reap.k8s.yaml", `(?m)^\s+args: \[(.*)\]`) {
		sources["docs/examples/todoctl-reap.k8s.yaml"] = []string{"todoctl " + strings.ReplaceAll(args, ",", " ")}
	}
	seen := map[string]bool{}
	for name, texts := range sources {
		for _, text := range texts {
			for _, args := range commandLines(text) {
				seen[args[0]] = true
				if err := parses(args); err != nil {
					t.Errorf("%s: todoctl %s: %v", name, strings.Join(args, " "), err)
				}
			}
		}
	}
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && !seen[c.Name()] {
			t.Errorf("no document shows todoctl %s", c.Name())
		}
	}
}

func matches(t *testing.T, name, pattern string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, name), -1) {
		all = append(all, m[1])
	}
	if all == nil {
		t.Fatalf("%s: nothing matches %s", name, pattern)
	}
	return all
}

// parses runs what cobra checks before a command runs.
func parses(args []string) error {
	tree := cmd.Root()
	tree.InitDefaultHelpCmd()
	c, rest, err := tree.Find(args)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// commandLines finds the words of each todoctl call in shell text. Lines that end in a backslash are
// joined; a call ends where the shell's grammar ends it.
func commandLines(text string) [][]string {
	text = strings.ReplaceAll(text, "\\\n", " ")
	text = regexp.MustCompile(`\$[A-Za-z0-9_]+`).ReplaceAllString(text, "x")
	var all [][]string
	for _, start := range regexp.MustCompile(`(?m)(?:^|[\s(|;&"'/])todoctl `).FindAllStringIndex(text, -1) {
		line := text[:start[0]]
		line = line[strings.LastIndex(line, "\n")+1:]
		if strings.Contains(line, "#") || regexp.MustCompile(`apt-get|dpkg|tar |install -m|\becho\b`).MatchString(line) {
			continue
		}
		words := shellWords(text[start[1]:])
		if strings.Contains(line, "xargs") {
			words = append(words, "x")
		}
		if len(words) > 0 {
			all = append(all, words)
		}
	}
	return all
}

// shellWords splits up to the first operator, redirection or closing bracket.
func shellWords(s string) []string {
	var words []string
	var word strings.Builder
	quote, in := rune(0), false
	end := func() {
		if in {
			words = append(words, word.String())
		}
		word.Reset()
		in = false
	}
	for _, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, in = r, true
		case strings.ContainsRune("\n|;&)<>#", r) && !(r == '#' && in):
			if r == '>' || r == '<' {
				in = in && !regexp.MustCompile(`^\d$`).MatchString(word.String())
			}
			end()
			return words
		case r == ' ' || r == '\t':
			end()
		default:
			word.WriteRune(r)
			in = true
		}
	}
	end()
	return words
}

// Every link between the documents leads to a file, and to a heading of it where it names one.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	links := 0
	for name, text := range all {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") || strings.HasPrefix(path, "mailto:") {
				continue
			}
			links++
			target := name
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: link to %s, which is not there", name, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: link to %s, which has no such heading", name, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links found", links)
	}
}

func anchors(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

// The example configuration has every key, and with all of them uncommented it is valid.
func TestExampleConfiguration(t *testing.T) {
	text := read(t, "docs/examples/config.yaml")
	for _, v := range append(config.Variables(), config.ProfileKeys()...) {
		if v.Key != "" && !regexp.MustCompile(`(?m)^#\s+(- )?`+v.Key+`:`).MatchString(text) {
			t.Errorf("the example lacks %s", v.Key)
		}
	}
	// One of the three ways to name a database rules the others out.
	set := regexp.MustCompile(`(?m)^# (database_url(_file)?: .*)$`).ReplaceAllString(text, "")
	set = regexp.MustCompile(`(?m)^# ((  )*(- )?[a-z_]+:( .*)?)$`).ReplaceAllString(set, "$1")
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Input{Env: []string{"TODOCTL_CONFIG=" + path, "TODOCTL_PROFILE=prod"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, set)
	}
	for _, v := range config.Variables() {
		if v.Key != "" && v.Key != "database_url" && v.Key != "database_url_file" && v.Key != "default_profile" &&
			!c.Value(v.Name).IsSet() {
			t.Errorf("%s is not set by the example", v.Key)
		}
	}
}
