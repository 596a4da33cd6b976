// Package examples tests the examples as the README tells to use them: through the built
// binary, its command line, and the outside world that `chargehand examples serve` plays.
package examples
