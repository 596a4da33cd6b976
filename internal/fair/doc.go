// Package fair shares permits (the right to run, to call, to compute) among executions.
//
// Permits are shared first between the two environments: test never holds more than half of them, and at least one. So
// live never waits long for a permit that an execution of test holds. Within that bound the environment that holds
// fewer permits gets the next one. If both hold as many, they take turns.
//
// Then the workflows of an environment take turns: in each round, every workflow that waits gets one permit, however
// many executions it has. Within a workflow the longest wait is served first. A workflow may be bounded to fewer
// permits than all.
//
// Keys (who has started the executions) may be bounded, too: each to so many permits in an environment, over all its
// workflows. Then the keys of a workflow take turns, so that none waits behind one that holds all it may, and within a
// key the longest wait is served first. The permit that brings a key to its bound goes to the workflow that has waited
// for one of the key longest, among those that may hold one more. So where workflows are bounded, too, a key may wait
// in a workflow that others fill for as long as it has work in another one.
package fair
