package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/runtime/tool"
)

// Outputs keeps what is too long for an agent's context as files in the agent's home,
// where read finds them. It is a tool.Keeper.
type Outputs struct{ Box Box }

// Keep implements tool.Keeper.
func (o Outputs) Keep(ctx context.Context, call tool.Call, output string) (name string, err error) {
	const keep = `dir=$HOME/outputs
if [ ! -d "$dir" ]; then mkdir -p -- "$dir" || exit; fi
name=$dir/$1.txt
rm -f -- "$name" || exit
set -C
cat >"$name" || exit
printf %s "$name"
`
	a, err := script(ctx, o.Box, []byte(output), maxShown, keep, strings.Map(fileRune, call.ID))
	switch {
	case err != nil:
		return "", fmt.Errorf("keep an output: %w", err)
	case a.status != 0:
		return "", errors.New(a.words)
	}
	return string(a.out), nil
}

// fileRune has only what names of files may have anywhere.
func fileRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
		return r
	}
	return '_'
}
