// Package blackbox holds the built binary to its contract from outside: the HTTP API and the
// command line, hostile input, the limits of size and time, crashes under load (kill -9), a full
// disk, and the loss of the store of files. Its tests see nothing but the process, its ports and
// its data directory.
package blackbox
