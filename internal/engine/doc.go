// Package engine is the contract of what drives executions. engine/embedded implements it over the store alone,
// engine/temporal over the store and Temporal; the service knows only this package. What both engines
// do stands here once: sorting commands, running and bounding activities, the end of an execution and its timeline.
// DESIGN.md says what engines do for executions with secrets and for children.
package engine
