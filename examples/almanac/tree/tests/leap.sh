. ./tests/expect.sh
expect yes leap 2024
expect no leap 2023
expect no leap 1900
expect yes leap 2000
expect no leap 2100
finish
