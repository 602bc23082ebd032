// Command tally reports on a journal of working hours.
package main

func main() {}
