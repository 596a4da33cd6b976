// Package engine is the contract of what drives executions. engine/embedded implements it over the store alone,
// engine/temporal over the store and Temporal; the service knows only this package. DESIGN.md says what engines do for
// executions with secrets and for children.
package engine
