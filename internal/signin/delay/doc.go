// Package delay says how long failed tries to sign in put off the next one: longer with each failure, never longer than
// Longest, so that no person can lock another one out. The store keeps the counts, so that all nodes share them.
package delay
