// Package script carries out `run.script` (docs/language/run-script.md, T46, T47, T49, T50, T89).
//
// Args is an object: language ("js", "javascript" or "python"), code (text) or else source (an
// object: endpoint, and authentication as package credential reads it), and if the task has them
// arguments (list or map), environment (object), stdin (anything) and return (text, default
// "stdout"). Definitions whose source has a constant address come with code (T69); any other
// source is read when the task runs, before it takes the place of a process.
//
// A list of arguments is argv, from its third entry in JavaScript (process.argv[2]) and its
// second in Python (sys.argv[1]) as usual. A map predefines a variable for each key, and is
// itself the one argument, as JSON (T46). Code that returns a value has this value as its
// output in the place of stdout (T47): `return`, or `export default` in a JavaScript module.
// undefined and None are no value. Data never becomes code: it travels as JSON.
//
// JavaScript (ES2024) runs in QuickJS, inside our own binary but not inside the server: an
// engine that is translated from C can be made to overflow the stack, which kills a Go
// process, and to loop where it does not ask whether it should stop. DESIGN.md has the scripts
// that do. So it runs in worker processes of our binary (process.Worker), which have no file,
// no network and no memory of the server, and which are killed when they do not answer.
// Workers are kept for the next script, each with a fresh engine; one that crashed, was
// killed or grew large is replaced.
//
// Python is the python3 of the server's PATH, as a confined process with a workspace, the
// same as `run.shell`. Its version is Runner.PythonVersion.
package script
