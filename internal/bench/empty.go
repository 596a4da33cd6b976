package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

const emptyArgument = "__empty-handler"

// MaybeEmptyHandler turns this process into the empty handler if it was started as one, and
// does not return then.
func MaybeEmptyHandler() {
	if len(os.Args) != 2 || os.Args[1] != emptyArgument {
		return
	}
	if err := serveEmpty(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "empty handler:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveEmpty serves a handler that reads the body and answers a small JSON object, on a free
// port that it prints, until standard input ends.
func serveEmpty(stdin io.Reader, stdout io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"ok":true}`))
	})}
	fmt.Fprintf(stdout, "http://%s/\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		_ = server.Close()
	}()
	_ = server.Serve(l) // ends with Close
	return nil
}

// startEmptyHandler runs this binary as an empty handler and returns its address.
func startEmptyHandler(ctx context.Context) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, emptyArgument)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start the empty handler: %w", err)
	}
	stop = func() {
		stdin.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start the empty handler: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}
