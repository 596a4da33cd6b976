// Package engine is the contract of what drives executions. engine/embedded implements it
// over the store; the service knows only this package. DESIGN.md says what engines do for
// executions with secrets, and how children are carried.
package engine
