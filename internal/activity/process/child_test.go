package process_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// child is what the commands of the tests do.
func child(name string, args []string) int {
	switch name {
	case "attack":
		return attack(args)
	case "cgroup":
		return process.CgroupServer(args[0], args[1:])
	case "hog":
		return hog()
	case "hold":
		return hold(120 << 20)
	case "shared-hog":
		return sharedHog()
	case "daemon":
		return daemonise(args[0], args[1])
	case "helperless":
		os.Args = []string{"chargehand", "__confine"} // as if TestMain had not looked
		_, _ = process.New(process.Config{Scratch: args[0]})
		return 0
	case "serve":
		return serve(args[0], args[1])
	case "stubborn":
		return beStubborn()
	case "sleep":
		time.Sleep(time.Hour) // not select {}: without cgo that is a deadlock
	}
	fmt.Fprintln(os.Stderr, "no child", name)
	return 1
}

// selfPath is this test binary.
func selfPath() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// hog allocates until it is refused or killed.
func hog() int {
	var kept [][]byte
	for {
		block := make([]byte, 16<<20)
		for at := 0; at < len(block); at += 4096 {
			block[at] = 1
		}
		kept = append(kept, block)
		if len(kept) > 1000 {
			return 0
		}
	}
}

// hold keeps memory that is within the limit of one process.
func hold(bytes int) int {
	block := make([]byte, bytes)
	for at := 0; at < len(block); at += 4096 {
		block[at] = 1
	}
	time.Sleep(time.Hour)
	return int(block[0])
}

// sharedHog allocates memory that RLIMIT_DATA does not count.
func sharedHog() int {
	for range 1000 {
		block, err := syscall.Mmap(-1, 0, 16<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
		if err != nil {
			return 2
		}
		for at := 0; at < len(block); at += 4096 {
			block[at] = 1
		}
	}
	return 0
}

// daemonise leaves a grandchild in a session of its own behind and ends, or continues if the
// argument says so. The mark is on every command line.
func daemonise(then, mark string) int {
	self := selfPath()
	if then == "middle" {
		return start(self, "child", "sleep", mark)
	}
	if code := start(self, "child", "daemon", "middle", mark); code != 0 {
		return code
	}
	fmt.Println("ready")
	if then == "stay" {
		time.Sleep(time.Hour) // not select {}: without cgo that is a deadlock
	}
	return 0
}

func start(path string, args ...string) int {
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout = os.Stdout // held open, as careless daemons do
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if args[2] == "middle" {
		_ = cmd.Wait()
	}
	return 0
}

// beStubborn does not stop when asked.
func beStubborn() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return 0
}

// echoWorker answers each frame with the same.
func echoWorker() int {
	for {
		request, err := process.ReadFrame(os.Stdin)
		if err != nil {
			return 0
		}
		if err := process.WriteFrame(os.Stdout, request); err != nil {
			return 1
		}
	}
}

// nosyWorker tells what it can reach.
func nosyWorker() int {
	if _, err := process.ReadFrame(os.Stdin); err != nil {
		return 1
	}
	say := func(err error) string {
		if err != nil {
			return "denied"
		}
		return "allowed"
	}
	_, socketErr := net.Listen("tcp", "127.0.0.1:0")
	execErr := exec.Command("/bin/true").Run()
	_, readErr := os.ReadFile("/etc/passwd")
	writeErr := os.WriteFile(os.TempDir()+"/chargehand-test-file", nil, 0o600)
	answer := fmt.Sprintf("read: %s, write: %s, listen: %s, execute: %s, secret: %q", say(readErr), say(writeErr), say(socketErr), say(execErr), os.Getenv("CHARGEHAND_SECRET"))
	if err := process.WriteFrame(os.Stdout, []byte(answer)); err != nil {
		return 1
	}
	return 0
}
