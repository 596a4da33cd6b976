// Package storetest is the suite that every dialect of package store passes. A change of what a method means is a
// change here first.
//
// Run takes a function that opens an empty database. Each test works on one of its own, checks what the methods of
// package store promise (its doc.go), and ends with the invariants that hold between tables in every database.
package storetest
