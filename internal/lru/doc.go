// Package lru holds the one cache of this program that forgets what was used least recently.
//
// It is bounded by a number of entries, by the sum of their sizes, or by both. The libraries that are at hand
// bound the number alone, and a wrapper over one would be as long as this.
package lru
