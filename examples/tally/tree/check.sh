# sh check.sh [journal | reports | choosing]: builds tally and compares its answers with
# the cases, all of them or those whose names begin so. Without a word also vet and tests.
export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod CGO_ENABLED=0
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
go build -o "$out/tally" . || exit 1
failed=0
for args in cases/"$1"*.args; do
	name=${args%.args}
	want=0
	[ ! -f "$name.err" ] || want=1
	case $name in *-usage*) want=2 ;; esac
	"$out/tally" $(cat "$args") < "$name.in" > "$out/out" 2> "$out/err"
	got=$?
	if [ $got -ne $want ]; then
		echo "FAIL $name: exit status $got, want $want"
		failed=1
	fi
	cmp -s "$out/out" "$name.out" || { echo "FAIL $name: printed"; cat "$out/out"; echo "want"; cat "$name.out"; failed=1; }
	[ ! -f "$name.err" ] || cmp -s "$out/err" "$name.err" || { echo "FAIL $name: said"; cat "$out/err"; echo "want"; cat "$name.err"; failed=1; }
done
if [ -z "$1" ]; then
	go vet ./... || failed=1
	go test ./... || failed=1
	ls ./*_test.go > "$out/tests" 2>&1 || { echo "FAIL: there are no tests in Go"; failed=1; }
fi
[ $failed -eq 0 ] && echo "all as expected"
exit $failed
