package main

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	sum, err := read(strings.NewReader("2026-03-02\n09:00-10:30 a/b\n"), options{report: "projects"})
	if err != nil || sum["a"] != 90 {
		t.Errorf("%v %v", sum, err)
	}
}
