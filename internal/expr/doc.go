// Package expr holds the runtime expressions of workflow definitions
// (jq, docs/language/expressions.md).
//
// An expression is compiled once, when a definition is applied, and evaluated often.
// Evaluation is a pure function of the input, the variables and the time that Env gives
// (T14), and it is bounded in steps and bytes, never in wall time (T76), so that a replay
// decides the same as the first run. DESIGN.md tells how the bounds are kept.
//
// Everything that is returned by a Compile function is immutable and may be used by many
// goroutines at once. The package starts no goroutine, reads no clock and no environment.
package expr

import "github.com/chargehand/chargehand/internal/value"

// Value is the JSON value that expressions take and give. Other packages name it value.Value.
type Value = value.Value
