// Package servertest runs the built binary as a user would, for tests that look at it from
// outside: it builds bin/chargehand once, starts servers on free ports with data directories
// of their own, makes keys with the command line, and talks HTTP.
package servertest
