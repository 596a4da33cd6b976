// Package machinetest is the suite that every engine passes: workflows with the behaviour of
// the world around them, and what must come out. Bare runs it on the machine alone; an
// engine brings a Runner of its own.
//
// Scripts do not depend on how fast anything is: where activities run at the same time, the
// outcome is the same in every order. Waits are of a few milliseconds; timeouts leave an engine
// time to start what is to run into them.
//
// # Events
//
// EventScripts are for runners that also play the bus of an installation (RunEvents):
//
//   - Events of World.Before are stored before the execution starts; it never gets them (T60).
//   - Events of World.Events are stored in their order as soon as the execution waits for the
//     first time (machine.Load.Listens > 0, or phase Waiting), never before its start.
//   - Events of an Answer are stored before the machine gets the outcome of that run, wherever
//     the execution is: perhaps no task listens yet.
//   - What the execution publishes is stored too, on the same bus.
//   - World.Envelopes makes the envelopes; each call gives them new ids.
//
// Of when an event is stored nothing but this depends, because a listen sees all that was
// stored since the start of its execution. The runner delivers them with EventReceived, in
// the order in which they were stored, and not while a subscription is paused.
//
// The activity of an Answer with Messages is a stream (machine.Command.Stream): it hands over
// Answer.Values one after another, then it ends with the outcome or, with Hang, runs until it
// is stopped. What an interrupted run handed over, the next one hands over again.
//
// # Children
//
// ChildScripts are for runners that also start other workflows (RunChildren): those of
// World.Children, which the runner must have deployed. A child that is awaited ends like any
// execution, and its parent gets ChildEnded; a process that is detached may run without end.
package machinetest
