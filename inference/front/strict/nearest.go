package strict

import (
	"fmt"
	"slices"
	"strings"
)

// nearest is a hint for a word that may be misspelt; empty where none of those
// that are known is near.
func nearest(word string, known []string) string {
	const most = 32 // a longer one is no slip of the hand, and costs the more
	best, distance := "", 1+max(2, len(word)/3)
	for _, k := range known {
		if len(word) > most {
			break
		}
		if d := edits(strings.ToLower(word), k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// edits counts the bytes to insert, delete or replace that make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{replace, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}
