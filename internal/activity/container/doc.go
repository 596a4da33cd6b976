// Package container carries out `run.container` (docs/language/run-container.md, T46, T49, T50, T67, T79,
// T80) with an engine that speaks the Docker Engine API 1.40 or later: Docker, or Podman's
// service.
//
// Args is an object: image, workflow {namespace, name}, and if the task has them name, command,
// arguments (list or map), environment, ports, volumes, stdin, pullPolicy, cleanup,
// cleanupAfterMs and return.
//
// # The process
//
// Without a command the image's own entrypoint runs; arguments replace its default command.
// A command replaces entrypoint and default command. If it is made of plain words, they and
// the arguments are the argument list, and the image needs no shell. Otherwise it is a script
// of the image's /bin/sh, and the arguments are its $1 and following: as everywhere, values
// never become part of a script (T48).
//
// IN_DIR and OUT_DIR (docs/language/files.md) are /chargehand/in and /chargehand/out in the
// container. They are copied into it before it starts and out of it after it has ended with
// code 0 (see below why they are not mounted).
//
// # Confinement
//
// Never privileged; no capability but those of Config.Capabilities; no new privileges; bounds
// on memory (without swap), processes, time and output. Host paths are mounted only if the
// operator listed exactly that path. A volume by name belongs to account and environment.
// Ports are published on Config.PublishAddress, the loopback address by default. The
// network is the engine's: connections of a container do not pass the egress rules.
// The disk that a container writes to is bounded by the engine only.
//
// # Life
//
// `cleanup: never`, the language's default, leaves the stopped container where it is; always
// removes it at once, eventually after the given time. A container carries labels: Call.Key,
// by which the next run of the same call finds and removes what a server that crashed left
// behind, and the time after which no call can be waiting for it any more, when the sweep of
// any server at this engine stops it. The sweep also carries out `eventually`, so that it
// outlives a restart.
//
// # Why it is made like this
//
// Files are copied, not mounted. A bind mount would need a folder that the engine sees under the same path as
// the server. That fails where it matters most: a server that is itself a container beside its engine, an
// engine on another machine, rootless engines and SELinux. It also leaves files of other owners in the
// server's folder, which a server that is not root can neither read nor remove. The archive endpoints of the
// API work everywhere, and the files that come out have the server as their owner. The price is one copy each
// way; the copy out is bounded while it is written.
//
// Only exact host paths. To allow everything below a root cannot be made safe: a container that may write
// there can make a link to /, and the engine follows it at the next mount, on a machine whose links the server
// cannot see.
//
// Volumes by name are prefixed with account and environment, because all accounts share the names of an
// engine, and so do the programs that the operator runs beside this server.
//
// No capabilities. Root without capabilities is enough for most tasks: they read, compute and write below
// OUT_DIR. Images whose entrypoint changes owners or users (databases, web servers) need some of them; the
// operator decides that.
//
// Labels instead of our own records. A row in our database and a container in the engine cannot be changed in
// one transaction. A label exists from the moment on in which the container exists. Labels cannot be changed,
// so the deadline is computed before the container is made: the time limit, the grace and the time to copy.
//
// Waiting. The request wait is sent after start, with the default condition, which returns at once for a
// container that has ended. The condition next-exit, sent before the start, is known to hang on engines other
// than Docker.
//
// A name that is taken is an error even if the container in the way was made by this server: its author asked
// to keep it (never), and a person may still want to read its logs.
package container
