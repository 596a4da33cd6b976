// Package histogram counts durations by their magnitude, so that quantiles of many parts, such as hours, follow
// from the sum of the parts.
//
// A histogram has sixteen bins for each power of two. A quantile is never below the duration that it stands for, and at
// most a sixteenth above it. A histogram of the durations of a workflow takes some ten to a hundred bytes.
package histogram
