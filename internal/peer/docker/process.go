package docker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
)

func (e *Engine) attach(w http.ResponseWriter, c *Container) {
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	e.Lock()
	c.attached = &hijacked{conn, buffered.Reader} // before the answer, which start may follow at once
	e.Unlock()
	fmt.Fprint(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
}

type hijacked struct {
	net.Conn
	reader *bufio.Reader
}

func (h *hijacked) Read(p []byte) (int, error) { return h.reader.Read(p) }

func (e *Engine) start(w http.ResponseWriter, c *Container) {
	argv := slices.Concat(c.Config.Entrypoint, c.Config.Cmd)
	name := "default"
	if len(argv) > 0 {
		name = argv[0]
	}
	run, known := e.programs[name]
	if !known {
		fail(w, http.StatusBadRequest, `failed to create task for container: exec: "`+name+`": executable file not found in $PATH: unknown`)
		return
	}
	e.Lock()
	c.state = container.StateRunning
	conn := c.attached
	e.Unlock()
	env := map[string]string{}
	for _, pair := range c.Config.Env {
		key, value, _ := strings.Cut(pair, "=")
		env[key] = value
	}
	p := &Process{Argv: argv, Env: env, Stdout: frames{conn, 1}, Stderr: frames{conn, 2}, Stdin: bytes.NewReader(nil), Files: c.files, Stop: c.stop}
	if c.Config.OpenStdin {
		p.Stdin = conn
	}
	go func() {
		code := run(p)
		e.Lock()
		c.code, c.state, c.finished, c.oom = code, container.StateExited, time.Now(), code == 137 && env["OOM"] != ""
		e.Unlock()
		_ = conn.Close()
		close(c.exited)
	}()
	w.WriteHeader(http.StatusNoContent)
}

// frames writes one stream as package stdcopy frames it.
type frames struct {
	w    io.Writer
	kind byte
}

func (f frames) Write(p []byte) (int, error) {
	header := [8]byte{f.kind}
	binary.BigEndian.PutUint32(header[4:], uint32(len(p)))
	if _, err := f.w.Write(append(header[:], p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
