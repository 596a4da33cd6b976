// Command temporal-server is a whole Temporal server in one process, for tests and drills:
// the services of go.temporal.io/server, one listener for clients, and a database that
// outlives kill -9. It is no product, checks no identity and listens on loopback only.
package main
