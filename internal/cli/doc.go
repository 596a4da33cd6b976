// Package cli is the command line (docs/reference/cli.md): the server and its operations, and a client of
// the API like any other. Data goes to standard output, messages for people to standard error.
package cli
