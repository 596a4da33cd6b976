//go:build race

package embedded

// raceDetector is whether the tests run with it.
const raceDetector = true
