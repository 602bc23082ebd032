# expect WANT ARGUMENT... runs almanac with the arguments and compares what it prints.
# Each test ends with finish.
name=$(basename "$0" .sh)
wrong=0
expect() {
	want=$1
	shift
	got=$(sh ./almanac "$@" 2>&1)
	if [ "$got" != "$want" ]; then
		echo "FAIL: almanac $*: got '$got', want '$want'"
		wrong=1
	fi
}
finish() {
	[ $wrong -eq 0 ] && echo "$name: all as expected"
	exit $wrong
}
