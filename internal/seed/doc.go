// Package seed fills an installation with a history of executions, for tests and measurements of what a server does
// with many of them.
//
// It writes through the methods of package store that the engines write with. What executions did is what the machine
// says of their workflows: package seed answers its commands and gives the times. So rows, timelines, journals, sums of
// usage and counts by the hour are those that a server would have left behind that was used for some weeks.
//
// The same options make the same history, but for what differs in the installation before.
package seed
