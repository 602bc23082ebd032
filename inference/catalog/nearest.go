package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// leastPart of a name says which one is meant; fewer letters are in too many.
const leastPart = 3

// DidYouMean is a hint for a misspelt or unfinished word, " (did you mean ...?)",
// or nothing where no candidate is near. Case does not count.
func DidYouMean(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, distance := "", 1+max(2, len(word)/3)
	for _, c := range candidates {
		if d := editDistance(word, strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	for _, c := range candidates {
		if best == "" && len(word) >= leastPart && strings.Contains(strings.ToLower(c), word) {
			best = c
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance counts the insertions, deletions and replacements of bytes that
// make b of a.
func editDistance(a, b string) int {
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
