// Package activity is the contract of what commands do to the world. One subpackage per
// kind implements Runner. An activity may run twice after a crash; its outcome is recorded
// once.
package activity
