package todo

import "strings"

// Nearest returns the known word that a misspelt one most likely meant, or "" when none is close:
// one letter of a short word may differ, two of a longer one, a third of a long one. A word that
// three letters or more begin, and no other, is meant by them.
func Nearest(word string, known []string) string {
	var begun []string
	for _, k := range known {
		if len(word) >= 3 && strings.HasPrefix(k, word) {
			begun = append(begun, k)
		}
	}
	if len(begun) == 1 {
		return begun[0]
	}
	allowed := max(2, len(word)/3)
	if len(word) < 4 {
		allowed = 1
	}
	best, distance := "", allowed+1
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
