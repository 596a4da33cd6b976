// Package conformance runs the specification's conformance kit (language.md 3) against the
// built binary over HTTP: every scenario, unmodified, offline. The two public hosts that the
// scenarios call are played by a local TLS server whose throw-away authority the binary is
// told to trust, and to which it is told to connect.
package conformance
