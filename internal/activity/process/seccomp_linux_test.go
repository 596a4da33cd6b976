package process

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs the filter on one call. The machine of the package reads big-endian words, the
// kernel reads its own; so the call is laid out for the former.
func verdict(t *testing.T, f filter, arch string, audit, number uint32, args ...uint32) uint32 {
	t.Helper()
	code, err := f.program(arch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bpf.Assemble(code); err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	call := make([]byte, 64)
	binary.BigEndian.PutUint32(call[offsetNumber:], number)
	binary.BigEndian.PutUint32(call[offsetArch:], audit)
	for i, arg := range args {
		binary.BigEndian.PutUint32(call[offsetArg0+8*i:], arg)
	}
	result, err := vm.Run(call)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(result)
}

func TestFilterJudgesCalls(t *testing.T) {
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	const allow, kill = unix.SECCOMP_RET_ALLOW, uint32(unix.SECCOMP_RET_KILL_PROCESS)
	step, worker := filter{sockets: true, exec: true}, filter{}
	for name, tc := range map[string]struct {
		filter filter
		number uint32
		args   []uint32
		want   uint32
	}{
		"read":                         {step, unix.SYS_READ, nil, allow},
		"execve":                       {step, unix.SYS_EXECVE, nil, allow},
		"execve of a worker":           {worker, unix.SYS_EXECVE, nil, errno(unix.EPERM)},
		"shmget":                       {step, unix.SYS_SHMGET, nil, errno(unix.ENOSYS)},
		"msgctl":                       {step, unix.SYS_MSGCTL, nil, errno(unix.ENOSYS)},
		"semtimedop":                   {step, unix.SYS_SEMTIMEDOP, nil, errno(unix.ENOSYS)},
		"mq_open":                      {step, unix.SYS_MQ_OPEN, nil, errno(unix.ENOSYS)},
		"keyctl":                       {step, unix.SYS_KEYCTL, nil, errno(unix.ENOSYS)},
		"io_uring_setup":               {step, unix.SYS_IO_URING_SETUP, nil, errno(unix.ENOSYS)},
		"userfaultfd":                  {step, unix.SYS_USERFAULTFD, nil, errno(unix.ENOSYS)},
		"perf_event_open":              {step, unix.SYS_PERF_EVENT_OPEN, nil, errno(unix.ENOSYS)},
		"clone3":                       {step, unix.SYS_CLONE3, nil, errno(unix.ENOSYS)},
		"memfd_create":                 {step, unix.SYS_MEMFD_CREATE, nil, errno(unix.ENOSYS)},
		"memfd_create in a cgroup":     {filter{memfd: true}, unix.SYS_MEMFD_CREATE, nil, allow},
		"clone of a thread":            {step, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
		"clone of a user namespace":    {step, unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | 17}, errno(unix.EPERM)},
		"unshare of files":             {step, unix.SYS_UNSHARE, []uint32{unix.CLONE_FILES}, allow},
		"unshare of a user namespace":  {step, unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWUSER | unix.CLONE_NEWNET}, errno(unix.EPERM)},
		"socket UNIX":                  {step, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM}, errno(unix.EAFNOSUPPORT)},
		"socket VSOCK":                 {step, unix.SYS_SOCKET, []uint32{unix.AF_VSOCK, unix.SOCK_STREAM}, errno(unix.EAFNOSUPPORT)},
		"socket ALG":                   {step, unix.SYS_SOCKET, []uint32{unix.AF_ALG, unix.SOCK_SEQPACKET}, errno(unix.EAFNOSUPPORT)},
		"socket IPv4":                  {step, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}, allow},
		"socket IPv6":                  {step, unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM}, allow},
		"socket netlink":               {step, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW}, allow},
		"socket IPv4 of a worker":      {worker, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}, errno(unix.EAFNOSUPPORT)},
		"socketpair of streams":        {step, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow},
		"socketpair of packets":        {step, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK}, allow},
		"socketpair of datagrams":      {step, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, errno(unix.EOPNOTSUPP)},
		"socketpair raw, so datagrams": {step, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_RAW}, errno(unix.EOPNOTSUPP)},
	} {
		t.Run(name, func(t *testing.T) {
			for arch, target := range architectures {
				if got := verdict(t, tc.filter, arch, target.audit, tc.number, tc.args...); got != tc.want {
					t.Errorf("%s: verdict %#x, want %#x", arch, got, tc.want)
				}
			}
			if got := verdict(t, tc.filter, "amd64", unix.AUDIT_ARCH_X86_64, x32Bit|tc.number, tc.args...); got != errno(unix.ENOSYS) {
				t.Errorf("x32: verdict %#x", got)
			}
			if got := verdict(t, tc.filter, "amd64", unix.AUDIT_ARCH_I386, tc.number, tc.args...); got != kill {
				t.Errorf("i386: verdict %#x", got)
			}
			if got := verdict(t, tc.filter, "arm64", unix.AUDIT_ARCH_ARM, tc.number, tc.args...); got != kill {
				t.Errorf("32-bit ARM: verdict %#x", got)
			}
		})
	}
	if _, err := step.program("riscv64"); err == nil {
		t.Error("an architecture without a filter has one")
	}
}
