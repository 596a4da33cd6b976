// Package dsltest makes definitions of any size, for the tests and benchmarks that show what
// size costs: the reader, the compiler, the machine and the engines all measure the same ones.
package dsltest
