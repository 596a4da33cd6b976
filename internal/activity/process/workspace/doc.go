// Package workspace is what activities that run processes share ("shell", "script" in Python,
// "container", and "mcp" over stdio): the private directory of one process with its files
// (docs/language/files.md), the way of values into arguments, environment and standard input (T46,
// T48), and the way of its outcome back into data (T49, T50, T79).
//
// A private directory holds IN_DIR (in) and OUT_DIR (out). It is HOME, TMPDIR and the working
// directory of the process, and goes when the workspace is closed.
//
// References. An object whose uri names a stored file of the same account and environment is
// a reference; any other object is data. Staged are the references in the task's transformed
// input, or only those that metadata.files.in names, and always those that are themselves an
// argument, an environment value or stdin, which then arrive as the local path. An entry of
// metadata.files.in that begins with a slash is a JSON pointer into the input and names
// everything at and below it; each of its segments may be a pattern, such as /pages/*. Any
// other entry is a pattern for the name of the file. manifest.json in IN_DIR maps the uris to
// the names that the files were staged under.
//
// Collected is every regular file below OUT_DIR after a success, in the order of the paths.
// Entries of metadata.files.collect narrow that: a pattern without a slash is for the last
// part of the path, one with a slash for all of it. Links are never followed.
//
// Patterns are those of path.Match.
package workspace
