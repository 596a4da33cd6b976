// Package eventstream publishes events, reads them, and wakes the subscriptions that wait for them.
//
// The events of an account's environment are a stream in the store: numbered from 1 without gaps, in the order of
// commit. Nothing is sent to a listener. The Pump wakes its subscription, and the engine then reads with a Reader; so no
// event can be lost between two processes, and an execution that waits is a row.
//
// The index (RowFilters) leaves out only what a subscription cannot want. It does not decide: the machine
// does (machine.Wants). DESIGN.md says how subscribing, looking and pumping follow each other, and why.
package eventstream
