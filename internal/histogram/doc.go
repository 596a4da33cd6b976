// Package histogram counts durations by their magnitude, so that quantiles of many parts, such as hours, follow
// from the sum of the parts.
//
// A histogram has eight bins for each power of two. A quantile is at most a sixteenth away from the duration that it
// stands for. A histogram of the durations of a workflow takes some ten to a hundred bytes.
package histogram
