// Package shell carries out `run.shell` (docs/language/run-shell.md, T46, T48–T50, T79).
//
// Args is an object: command (text), and if the task has them arguments (list or map),
// environment (object), stdin (anything) and return (text, default "stdout").
//
// The command is the script of /bin/sh; arguments are its $1 and following. A command of one
// plain word gets all of them, so that {command: ls, arguments: [-l]} does what it says. Values
// never become part of the command line (T48): there is nothing to escape.
package shell
