package todo

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"database_url", "queue", "ttl", "table"}
	for word, want := range map[string]string{
		"databse_url": "database_url",
		"queu":        "queue",
		"tt":          "ttl",
		"tabel":       "table",
		"colour":      "",
		"":            "",
		"queue":       "queue",
		"data":        "database_url",
		"ta":          "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
