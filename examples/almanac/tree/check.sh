# Runs all tests. The specification is met when this succeeds.
failed=0
for test in tests/*.sh; do
	[ "$test" = tests/expect.sh ] && continue
	sh "$test" || failed=1
done
exit $failed
