// Package fingerprint tells which errors are of one kind: their details differ only in what changes from one
// execution to the next, such as numbers and ids.
//
// Sums are stored with executions. A change of what Normalize returns is a change of stored data: errors of before
// and after it are in different groups.
package fingerprint
