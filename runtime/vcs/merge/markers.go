package merge

import "bytes"

// Marked reports whether a text holds a conflict as git writes it: a line that
// begins with seven "<", one of seven "=" and one that begins with seven ">", in
// this order.
func Marked(data []byte) bool {
	if !bytes.Contains(data, []byte("<<<<<<<")) {
		return false
	}
	want := 0
	marks := [...]byte{'<', '=', '>'}
	for at := 0; at >= 0 && at < len(data); {
		if marker(data[at:], marks[want]) {
			if want++; want == len(marks) {
				return true
			}
		}
		next := bytes.IndexByte(data[at:], '\n')
		if next < 0 {
			return false
		}
		at += next + 1
	}
	return false
}

// marker reports whether a line begins with seven of c, and then ends or goes on
// after a space.
func marker(line []byte, c byte) bool {
	const n = 7
	if len(line) < n {
		return false
	}
	for _, b := range line[:n] {
		if b != c {
			return false
		}
	}
	return len(line) == n || line[n] == '\n' || line[n] == '\r' || line[n] == ' '
}
