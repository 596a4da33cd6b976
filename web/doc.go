// Package web is the web UI: a bundle that `make build` makes of src, embedded in the program, and served as it is.
// DESIGN.md says how it is made.
package web
