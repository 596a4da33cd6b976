// Package cloudevent knows the rules of CloudEvents 1.0 for events as JSON objects. Events from
// outside and those that workflows emit keep the same ones. The package is pure: it imports
// expr only.
package cloudevent
