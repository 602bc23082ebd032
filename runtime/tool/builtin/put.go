package builtin

import (
	"context"
	"strings"
)

// Stage is the name under which a file lies for a moment, in the folder where it will
// be, before it takes the place of the old one. If the machine stops in that moment,
// one of that name stays behind: it is no work of an agent.
const Stage = ".dure-stage"

// putScript gives a file new content, all at once: it is never half of it. $3 is the
// content's hash; $4 is the hash that the file must still have, or "read": what the
// agent read last, or no file at all.
const putScript = `p=$1 notes=$HOME/.files-read want=$4
if [ -L "$p" ]; then p=$(readlink -f -- "$p") || exit; fi
if [ -d "$p" ]; then echo folder; exit; fi
word=new
if [ -e "$p" ]; then
	if [ ! -f "$p" ]; then echo special; exit; fi
	word=changed
	now=$(sha256sum <"$p") || exit
	now=${now%% *}
	if [ "$want" = read ]; then
		if [ "$now" = "$3" ]; then echo same; exit; fi
		want=
		if [ -f "$notes/$2" ]; then read -r want <"$notes/$2"; fi
		if [ -z "$want" ]; then echo unread; exit; fi
	fi
	if [ "$now" != "$want" ]; then echo stale; exit; fi
elif [ "$want" != read ]; then
	echo stale; exit
fi
dir=${p%/*}
if [ ! -d "${dir:=/}" ]; then mkdir -p -- "$dir" || exit; fi
if [ ! -d "$notes" ]; then mkdir -p -- "$notes" || exit; fi
stage=$dir/` + Stage + `
rm -f -- "$stage" || exit
set -C
trap 'rm -f -- "$stage"' EXIT
cat >"$stage" || exit
set +C
if [ "$word" = changed ]; then chmod --reference="$p" -- "$stage" || exit; fi
mv -fT -- "$stage" "$p" || exit
trap - EXIT
if [ -e "$notes/$2" ] && [ ! -f "$notes/$2" ]; then rm -rf -- "$notes/$2" || exit; fi
echo "$3" >"$notes/$2" || exit
echo "$word"
`

// put writes a file. The word that it answers with is new, changed or same where the
// file has the content; stale, unread, folder or special where nothing was done.
func put(ctx context.Context, box Box, f file, content []byte, want string) (word string, a answer, err error) {
	a, err = script(ctx, box, content, maxShown, putScript, f.arg, f.key(), hashOf(content), want)
	return strings.TrimSpace(string(a.out)), a, err
}
