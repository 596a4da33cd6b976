// Package testrecord writes a test file (package testfile) from what an execution received from outside: each outcome
// becomes the answer of a mock, each event a step at its time, and what the execution came to is what the test expects.
//
// Write is pure. What it writes passes, unless the execution depended on what a test does not have: other definitions,
// the values of its secrets, the clock of the server. Check runs a file, and says so.
//
// Replay gives what an execution received to another definition, and reports the first decision that is another one.
package testrecord
