package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"dure/inference"
	"dure/inference/quiet"
)

// quietOptions say when the machine is to be quiet, and what that means.
type quietOptions struct {
	hours   string // "22:00-07:00"; "" is never
	threads int    // 0 is as many as else
	least   string // priority; "" is all
}

// register declares the flags.
func (o *quietOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.hours, "quiet-hours", "", "hours of the day in which the machine is to be quiet, for example 22:00-07:00, by this machine's clock")
	f.IntVar(&o.threads, "quiet-threads", 0, "threads that compute in quiet hours at most")
	f.StringVar(&o.least, "quiet-priority", "", fmt.Sprintf("least urgent requests that are served in quiet hours, others are told when to come again: one of %v", quiet.Priorities))
}

// rule is what they ask for.
func (o *quietOptions) rule() (r quiet.Rule, err error) {
	if o.hours != "" {
		if r.Hours, err = quiet.Parse(o.hours); err != nil {
			return r, fmt.Errorf("--quiet-hours: %w", err)
		}
	}
	r.Threads, r.Least = o.threads, inference.Priority(o.least)
	if err := r.Validate(); err != nil {
		return r, fmt.Errorf("--quiet-hours, --quiet-threads, --quiet-priority: %w", err)
	}
	return r, nil
}
