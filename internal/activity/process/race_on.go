//go:build race

package process

// raceDetector is true in builds with the race detector, whose own memory is far above any
// limit that a worker is given.
const raceDetector = true
