package main

import (
	"os"

	helper "dure/runtime/sandbox/cell"
)

// becomeHelper makes this process the helper of a sandbox, if it was started as one. It
// comes before everything else: flags, environment and signals are not the helper's.
func becomeHelper() {
	if len(os.Args) > 1 && os.Args[1] == helper.Arg {
		helper.Main()
	}
}
