// Package testfile reads tests of workflows: NAME.test.yaml beside NAME.yaml (docs/reference/tests.md).
//
// Read decodes the text strictly: objects are closed, and all problems are reported at once, each with line, column, a
// code of package dsl, a sentence and, where there is one, a hint. Values have the types of JSON, as in definitions.
// What needs the workflow is not decided here: addresses of tasks, kinds of mocks that do not fit a task, outcomes and
// forms are checked by package testrun.
//
// Schema is the JSON Schema of test files, for editors. Tests hold it to the decoder.
//
// Limits: those of package dsl on texts (1 MiB, 256 levels of a value), MaxTests tests, MaxEntries entries of a list.
// Everything returned is immutable.
package testfile
