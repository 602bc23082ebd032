package main

import (
	"strings"
	"testing"
)

func TestQuietFlags(t *testing.T) {
	for _, c := range []struct {
		o    quietOptions
		want string // in the error; "" is none
	}{
		{quietOptions{}, ""},
		{quietOptions{hours: "22:00-07:00", threads: 1}, ""},
		{quietOptions{hours: "22:00-07:00", least: "worker"}, ""},
		{quietOptions{hours: "22-7", threads: 1}, "22:00-07:00"},
		{quietOptions{hours: "22:00-07:00"}, "nothing is to be different"},
		{quietOptions{threads: 1}, "not when they are"},
		{quietOptions{hours: "22:00-07:00", least: "vip"}, "must be one of"},
	} {
		r, err := c.o.rule()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v", c.o, r, err)
		}
	}
}
