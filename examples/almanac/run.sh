#!/bin/sh
# Makes a repository of the example's tree, unless it is there, and has a scripted team
# work on it:  sh examples/almanac/run.sh [FOLDER [FLAG OF dure swarm run...]]
set -e
here=$(cd "$(dirname "$0")" && pwd)
repo=${1:-almanac-demo}
[ $# -eq 0 ] || shift
dure=${DURE:-$(command -v dure || echo "$here/../../bin/dure")}
if [ ! -x "$dure" ]; then
	echo "run.sh: no dure found: run make build first, or set DURE to the program" >&2
	exit 1
fi
if [ ! -e "$repo/.git" ]; then
	mkdir -p "$repo"
	cp -R "$here/tree/." "$repo"
	git -C "$repo" init -q
	git -C "$repo" add -A
	git -C "$repo" -c user.name=You -c user.email=you@localhost commit -q -m "almanac, with tests of what it is to have"
fi
# Begun before: a run that did not finish goes on; one that did begins again.
name=$(basename "$repo")
case " $* " in
*" --fresh "* | *" --dir "*) ;;
*)
	state=$("$dure" swarm --dir "$name" status 2>/dev/null | head -n 1) || state=
	case $state in
	"") ;;
	done* | accepted* | failed* | ended*) set -- --fresh "$@" ;;
	"at rest"*)
		echo "run.sh: the run $name goes on; run.sh $repo --fresh begins it anew"
		exec "$dure" swarm --dir "$name" run
		;;
	esac
	;;
esac
exec "$dure" swarm run "$here/SPEC.md" --repo "$repo" --check "sh check.sh" --script "$here/script.yaml" --agents 4 "$@"
