// Package machinetest is the suite that every engine passes: workflows with the behaviour of
// the world around them, and what must come out. Bare runs it on the machine alone; an
// engine brings a Runner of its own.
//
// Scripts do not depend on how fast anything is: where activities run at the same time, the
// outcome is the same in every order. Waits are of a few milliseconds; timeouts leave an engine
// time to start what is to run into them.
package machinetest
