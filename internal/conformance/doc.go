// Package conformance holds the product to the workflow language: the specification's
// conformance kit (docs/language/conformance.md), unmodified, and feature files of our own in the same step
// language for everything that the kit does not touch.
//
// Scenarios run offline against a host: the built binary over HTTP, or the same parts inside
// the test, which can crash. In crash mode each scenario runs once for every commit that it
// makes: after that commit nothing more reaches the database, the process state is thrown
// away, and a new one is built from what was stored. The result must be the same.
//
// The public hosts that scenarios call are played by a local TLS server (standIn) whose
// throw-away authority the host is configured to trust, and to which it is configured to connect.
//
// A scenario of our own names what it is about by tags: @T57 for a decision of
// docs/language/decisions.md, @1.7-listen for a feature of the language. features/coverage.txt lists
// them. TestConformanceCoverage fails if one that
// can be observed is named by no scenario. @slow runs in no crash mode, @binary against the
// built binary only; both say why in a comment. @lifecycle and @lifecycle-prefix ask for a server
// that its operator has configured to publish lifecycle events.
package conformance
