// Package operate is what an operator does to an installation beside its server, or without one: back up, restore, look
// for damages (Doctor), make a key, exchange the master key, and prepare Temporal or leave it.
//
// What the package promises:
//   - A backup that was cut off cannot be restored.
//   - Doctor changes nothing, and reports all that is wrong, not the first problem only.
//   - No command makes an installation where there is none, except CreateKey with Init.
package operate
