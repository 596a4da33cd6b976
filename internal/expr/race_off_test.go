//go:build !race

package expr

// raceFactor is how much slower and larger everything is under the race detector.
const raceFactor = 1
