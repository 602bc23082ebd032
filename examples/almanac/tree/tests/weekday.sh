. ./tests/expect.sh
expect Thursday weekday 1970-01-01
expect Monday weekday 2026-11-30
expect Tuesday weekday 2000-02-29
expect Friday weekday 1582-10-15
finish
