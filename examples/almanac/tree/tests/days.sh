. ./tests/expect.sh
expect 0 days 2024-02-28 2024-02-28
expect 2 days 2024-02-28 2024-03-01
expect 366 days 2000-02-01 2001-02-01
expect 365 days 2023-01-01 2024-01-01
expect -1 days 2000-01-01 1999-12-31
expect 146097 days 1600-01-01 2000-01-01
finish
