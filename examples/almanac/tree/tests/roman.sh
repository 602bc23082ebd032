. ./tests/expect.sh
expect I roman 1
expect IV roman 4
expect XLII roman 42
expect MCMXCIV roman 1994
expect MMMCMXCIX roman 3999
expect 'almanac: roman numbers go from 1 to 3999' roman 4000
expect 'almanac: roman numbers go from 1 to 3999' roman 0
finish
