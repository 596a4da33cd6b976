// Package process runs commands of workflow authors as confined child processes
// (docs/explanation/architecture.md "Processes").
//
// The server never starts a command itself. It starts its own binary in a hidden helper mode
// (MaybeHelper must be the first call of main and of TestMain), and this supervisor, one per
// command, starts the command, watches it and ends it:
//
//	server ──control pipe──▶ supervisor ──fork, exec──▶ command ──▶ its descendants
//	       ◀──status pipe──  (subreaper)
//	       ◀──stdout, stderr──────────────────────────────┘
//
// Invariants:
//
//   - Nothing survives. The supervisor is the subreaper of everything below it, so a daemon
//     that forked twice and left its session is still its descendant. It kills all of them
//     when the command ends, when the server asks for it, when a limit is hit, and when the
//     control pipe closes, which the kernel sees to even if the server dies by SIGKILL. Where
//     it is process 1 of a PID namespace, the kernel kills them with the supervisor, too.
//   - The command never sees the server's environment, its open files, its data directory or
//     what else Config.HiddenPaths names (Landlock).
//     Values reach it by arguments, environment and standard input, never as program text.
//   - Every limit that is hit is a *LimitError that names it. Output is never cut silently.
//
// The supervisor starts in user, PID, mount and IPC namespaces of its own where the machine allows that
// (namespaceSupport tries it once). A small process beside the server, the launcher, starts it then: the fork
// that a user namespace needs would copy the page tables of the server. It mounts a /proc that shows its
// descendants alone, and a /dev/shm that ends with them. Users are mapped to themselves. The numbers of
// processes that it deals with are those of its namespace.
//
// What the confinement is made of, on the thread that forks the command only, so that the
// supervisor itself stays free to kill (the command waits at a gate until that thread has
// ended, see startCommand):
//
//   - Landlock: read and execute what Config.ReadPaths and the system folders hold, write only
//     the private directory, no signals to processes outside, no abstract sockets outside.
//     /tmp is outside, and without namespaces /dev/shm, too: programs are pointed at TMPDIR.
//   - a seccomp filter: no sockets but those of IP and netlink and pairs of streams, no System V
//     IPC, keyrings, io_uring, user namespaces; and no memory files, which only a cgroup counts.
//   - no_new_privs, and for a server that runs as root no capabilities but those over the
//     ownership and modes of files. A command of a root server is still root in the eyes of
//     file modes: run the server as a user of its own.
//   - a cgroup for each command where the server's own is delegated to it: memory, number of
//     threads, weight of CPU. The filter then lets memory files pass.
//   - rlimits (data segment, file size, CPU, open files, processes, no core), a lower priority,
//     and a watch over the whole tree: memory, number of processes, size of the directory.
//
// What is not confined: the network. A command may open any connection that its user may open.
// Without namespaces it can read the /proc of the machine, and so see the command lines of all
// processes, not their environments; and semaphores of POSIX, which need /dev/shm, fail. On
// kernels before 6.12, which lack the signal scope, a hostile command without namespaces can
// kill the supervisor or the server of the same user. A kernel without Landlock leaves files
// unconfined. Capabilities tells what this machine gives, and New tells the log what it does not.
//
// Memory is limited by RLIMIT_DATA and by the watch, not by RLIMIT_AS: runtimes such as Go,
// Java and V8 reserve far more address space than they ever use.
package process
