// Package storetest is the suite that every dialect of package store passes. A change of
// what a method means is a change here first.
package storetest
