// Package plan turns a definition into what the machine runs: tasks numbered, names and
// jumps resolved to pointers, expressions, templates and schemas compiled.
//
// A Plan is immutable and may be used by many goroutines at once. Compiling reads no clock,
// no network and no file, and the same document always gives the same plan: a task keeps
// its number as long as the definition does not change, so numbers may be stored.
//
// External resources with constant addresses are compiled in and count in the digest (T69):
// Check lists those that are wanted, its caller fetches them and asks again until none is.
// Functions from catalogs and URLs are among them; those of the default catalog are part of
// the binary (catalog.go). What is known only when a task runs is left to activities,
// or refused where the machine itself needs it (schemas).
//
// Compile refuses what the machine cannot run, by name (code "not_supported"), rather than
// ignoring it. All problems carry the pointer, line and column of the place in the definition.
package plan
