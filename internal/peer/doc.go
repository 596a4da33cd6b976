// Package peer starts the servers that Chargehand works with, for tests: PostgreSQL,
// S3, an authorization server; temporalpeer starts Temporal. Each runs in a temporary directory on a free port
// of 127.0.0.1, can be killed and brought back, and ends with the test. `make test` installs
// or builds the programs (scripts/setup); without one, a test that needs it is skipped,
// except in continuous integration, where nothing is skipped.
package peer
