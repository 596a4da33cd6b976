//go:build race

package expr

const raceFactor = 12
