// Package value holds the JSON value and its codec.
//
// A Value is what JSON can say, and nothing else. Integers are exact. Parse refuses whatever two
// readers could understand differently: duplicate keys, lone surrogates, invalid UTF-8. Append writes one
// canonical text for each value, so equal values have equal digests.
//
// Values are shared freely between executions, templates and evaluations: a value never changes after it
// was handed on. The package keeps no state apart from a pool of parsers, and every function may be
// used by many goroutines at once.
package value
