package key

// matches reports whether a name fits a pattern in which "*" stands for any
// characters, slashes and none too, and "?" for one byte. It takes time in
// proportion to pattern times name at most, whatever the pattern.
func matches(pattern, name string) bool {
	star, resume := -1, 0 // the last star, and where the name goes on behind it
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0: // the star takes one more
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
