package process

import (
	"fmt"
	"os"
)

// Support says which means of confining processes this machine has.
type Support struct {
	Landlock   int   // ABI version of the kernel's Landlock; 0: none
	Namespaces error // why processes have no namespaces of their own; nil: they have
	Filter     error // why system calls are not filtered; nil: they are
	Cgroup     error // why processes have no cgroup of their own; nil: this process can give them one
}

// Capabilities finds out what this machine gives. MaybeHelper must have been called.
func Capabilities() Support {
	mustNotBeHelper()
	_, cgroup := findCgroup()
	return Support{Landlock: landlockVersion(), Namespaces: namespaceSupport(), Filter: filterSupport(), Cgroup: cgroup}
}

// Fact is one line about the confinement for the operator.
type Fact struct {
	What   string
	OK     bool
	Detail string
	Remedy string // "" if OK
}

// Facts describes the confinement in words, with one fact for each part.
func (s Support) Facts() []Fact {
	return []Fact{s.files(), s.namespaces(), s.calls(), s.cgroup(), user()}
}

func (s Support) files() Fact {
	f := Fact{What: "files of processes", Detail: "Landlock keeps them to their own folder"}
	switch {
	case s.Landlock == 0:
		f.Detail = "this kernel has no Landlock: processes of workflows can read and write every file that the server can"
		f.Remedy = "boot with lsm=landlock,…, or allow only js"
	case s.Landlock < landlockScopeVersion && s.Namespaces != nil:
		f.Detail = fmt.Sprintf("this kernel's Landlock (ABI %d) cannot confine signals: processes of workflows can kill processes of the server's user", s.Landlock)
		f.Remedy = "use Linux 6.12 or newer, or make namespaces possible"
	default:
		f.OK = true
	}
	return f
}

func (s Support) namespaces() Fact {
	if s.Namespaces == nil {
		return Fact{What: "namespaces of processes", OK: true, Detail: "each step has namespaces of its own for users, processes, mounts and IPC"}
	}
	return Fact{
		What:   "namespaces of processes",
		Detail: fmt.Sprintf("processes of workflows cannot have namespaces of their own (%v): they see the command lines of all processes of this machine, and have no shared memory", s.Namespaces),
		Remedy: "allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile and masked paths of /proc); until then pass secrets by environment or stdin, not by arguments",
	}
}

func (s Support) calls() Fact {
	if s.Filter == nil {
		return Fact{What: "system calls of processes", OK: true, Detail: "a seccomp filter refuses UNIX sockets, System V IPC, io_uring, keyrings and the like"}
	}
	return Fact{
		What:   "system calls of processes",
		Detail: fmt.Sprintf("system calls of processes of workflows are not filtered (%v): they can reach UNIX sockets of services that trust the server's user, and leave System V objects behind", s.Filter),
		Remedy: "use a kernel with seccomp filters on amd64 or arm64, or allow only js",
	}
}

func (s Support) cgroup() Fact {
	if s.Cgroup == nil {
		return Fact{What: "cgroups of processes", OK: true, Detail: "each step has one of its own, which bounds memory and processes"}
	}
	return Fact{
		What: "cgroups of processes",
		Detail: fmt.Sprintf("processes of workflows have no cgroups of their own (%v): their memory and number are looked at 40 times a second instead, "+
			"and memfd_create is refused", s.Cgroup),
		Remedy: "delegate a cgroup of version 2 to the server, with systemd by Delegate=memory pids cpu in its unit",
	}
}

func user() Fact {
	if os.Geteuid() != 0 {
		return Fact{What: "user of processes", OK: true, Detail: "an ordinary user"}
	}
	return Fact{
		What:   "user of processes",
		Detail: "the server runs as root, and so do processes of workflows, without root's capabilities",
		Remedy: "run the server as a user of its own",
	}
}
