package peer

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

// Auth is an authorization server (internal/peer/authserver says what it serves).
type Auth struct {
	URL string // http://127.0.0.1:port
}

// StartAuth starts an authorization server that ends with the test. clientKey is the public
// JSON Web Key, with its algorithm, of the client private_key_jwt.
func StartAuth(tb testing.TB, clientKey string) *Auth {
	tb.Helper()
	return StartAuthAs(tb, clientKey, "")
}

// StartAuthAs is StartAuth of a server that clients know by another address than URL:
// http://auth.example.com.
func StartAuthAs(tb testing.TB, clientKey, address string) *Auth {
	tb.Helper()
	path, port := Program(tb, "authserver"), FreePort(tb)
	p := &Process{
		TB: tb,
		Command: func() *exec.Cmd {
			return exec.Command(path, "-port", fmt.Sprint(port), "-client-key", clientKey, "-url", address)
		},
		Ready: func() error { return Listens(port) },
	}
	p.Start()
	tb.Cleanup(func() { p.Signal(syscall.SIGKILL) })
	return &Auth{URL: fmt.Sprintf("http://127.0.0.1:%d", port)}
}
