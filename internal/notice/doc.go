// Package notice holds the licences of what is linked into the program: they ask that their texts go along with it.
package notice
