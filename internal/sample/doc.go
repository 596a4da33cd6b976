// Package sample says which part of a large suite one run of the tests takes. CHARGEHAND_FULL takes all
// of it, as `make test/full` does. Otherwise each run takes another sample, by a seed that a test that
// fails prints: CHARGEHAND_SAMPLE names the seed of a sample that shall be taken again.
package sample
