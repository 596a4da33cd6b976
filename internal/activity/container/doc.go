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
// code 0 (DESIGN.md tells why they are not mounted).
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
package container
