// Package apptest is a client of an installation that a test serves in its own process.
package apptest
