package process

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filter says which system calls a seccomp filter refuses. What all filters refuse are doors to
// shared state of the kernel that no namespace, no Landlock rule and no limit is in front of.
type filter struct {
	memfd   bool // allow memfd_create: a cgroup counts that memory
	sockets bool // allow sockets of IP and netlink
	exec    bool // allow to execute programs
}

// What the filters are made for. A call of another architecture has other numbers: it is fatal.
var architectures = map[string]struct {
	audit uint32
	x32   bool // numbers from x32Bit on are those of the x32 ABI
}{
	"amd64": {unix.AUDIT_ARCH_X86_64, true},
	"arm64": {unix.AUDIT_ARCH_AARCH64, false},
}

const x32Bit = 0x4000_0000

// refused are calls that look to programs as if the kernel did not have them, so that these
// fall back to others.
var refused = []uint32{
	// System V objects belong to no process and outlive processes.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMDT, unix.SYS_SHMCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	// A limit allows no new message queues of POSIX; without a namespace, those of other programs could be opened.
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	// Keyrings are shared by all processes of a user.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// A ring carries out calls that no filter sees.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// What steps do not need, and attacks on the kernel do.
	unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_BPF, unix.SYS_MEMFD_SECRET,
	// Its flags lie where a filter cannot look; libraries fall back to clone.
	unix.SYS_CLONE3,
}

// The offsets of struct seccomp_data. Both architectures are little-endian: the lower half of
// an argument comes first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArg0   = 16
	offsetArg1   = 24
)

func refuse(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// program is the filter for an architecture of Go's naming.
func (f filter) program(arch string) ([]bpf.Instruction, error) {
	target, ok := architectures[arch]
	if !ok {
		return nil, fmt.Errorf("no seccomp filter for %s", arch)
	}
	code := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: target.audit, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
	}
	if target.x32 {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1}, refuse(unix.ENOSYS))
	}
	deny := func(errno unix.Errno, numbers ...uint32) {
		for _, number := range numbers {
			code = append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, refuse(errno))
		}
	}
	// judge decides a call by one of its arguments, by instructions that end in a return.
	judge := func(number, offset uint32, rules ...bpf.Instruction) {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(rules) + 1)},
			bpf.LoadAbsolute{Off: offset, Size: 4})
		code = append(code, rules...)
	}
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	deny(unix.ENOSYS, refused...)
	if !f.memfd {
		deny(unix.ENOSYS, unix.SYS_MEMFD_CREATE)
	}
	if !f.exec {
		deny(unix.EPERM, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
	}
	// Within a user namespace of its own a process has all capabilities, and with them far more
	// of the kernel to attack.
	for _, number := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		judge(number, offsetArg0,
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.CLONE_NEWUSER, SkipTrue: 1}, refuse(unix.EPERM), allow)
	}
	if f.sockets {
		// UNIX sockets lead to services of the machine that trust its user; others than these
		// lead out of virtual machines, or to seldom used parts of the kernel.
		judge(unix.SYS_SOCKET, offsetArg0,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 3},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
			refuse(unix.EAFNOSUPPORT), allow)
	} else {
		deny(unix.EAFNOSUPPORT, unix.SYS_SOCKET)
	}
	// Half a pair of datagram sockets can be connected to any other.
	judge(unix.SYS_SOCKETPAIR, offsetArg1,
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, // without SOCK_CLOEXEC and SOCK_NONBLOCK
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
		refuse(unix.EOPNOTSUPP), allow)
	return append(code, allow), nil
}

// install puts the filter on the calling thread, with unix.SECCOMP_FILTER_FLAG_TSYNC on all
// threads of the process, and on what they start. They need no_new_privs.
func (f filter) install(flags uintptr) error {
	code, err := f.program(runtime.GOARCH)
	if err != nil {
		return err
	}
	return installProgram(code, flags)
}

func installProgram(code []bpf.Instruction, flags uintptr) error {
	raw, err := bpf.Assemble(code)
	if err != nil {
		return fmt.Errorf("assemble seccomp filter: %w", err)
	}
	filters := make([]unix.SockFilter, len(raw))
	for i, ins := range raw {
		filters[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	program := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	tid, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filters)
	if errno != 0 {
		return fmt.Errorf("seccomp filter: %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("seccomp filter: thread %d has another one", tid)
	}
	return nil
}

// filterSupport tells why this kernel filters no system calls; nil: it does.
var filterSupport = sync.OnceValue(func() error {
	if _, ok := architectures[runtime.GOARCH]; !ok {
		return fmt.Errorf("there is no filter for %s", runtime.GOARCH)
	}
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); errno != 0 {
		return fmt.Errorf("the kernel has no seccomp filters: %w", errno)
	}
	return nil
})
