// Package dslschema writes the JSON Schema (2020-12) of workflow definitions, for editors.
//
// What holds:
//
//   - Every definition that package dsl reads without an error is valid by the schema. What a schema of this kind
//     cannot say (jumps, duplicate names, the form of expressions, durations and addresses, everything that depends on
//     evaluate.mode) is left to the decoder, so that an editor never marks what the server would take.
//   - The properties of every object, the required ones and the closed lists of values are those of the decoder. The
//     tests walk the schema, put an unknown property into each place, and compare it with what the decoder says is
//     known there; so neither can grow alone.
//   - Every property has a description, which editors show.
//
// Tools of older drafts understand the schema but for dependentRequired, which they ignore.
package dslschema
