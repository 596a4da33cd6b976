// Package fair shares places (the right to run, to call, to compute) among executions.
//
// Places are shared first between the two environments: `test` never holds more than half of them,
// and one at least. So what test does for a long time never keeps live waiting for a place. Within that bound the
// environment that holds fewer places gets the next one; if both hold as many, they take turns. Then workflows take turns: each that waits gets
// one place in each round, however many executions it has. Within a workflow, first come, first served.
// A workflow may be bounded to fewer places than there are.
package fair
