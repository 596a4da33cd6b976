// Package temporalpeer starts Temporal servers for tests. It stands beside package peer because it knows Temporal's
// SDK, which the tests that need other servers would compile for nothing.
package temporalpeer
