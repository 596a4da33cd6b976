package container

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// errOutput tells that a process wrote more than it may.
var errOutput = errors.New("output over the limit")

// output collects what a container writes. stdout, stderr and err are read after done is
// closed, or after close.
type output struct {
	stream         client.ContainerAttachResult
	stdout, stderr bytes.Buffer
	left           int64
	done           chan struct{}
	err            error
}

// attach connects to a container that is not started yet, so that nothing is missed.
func (r *Runner) attach(ctx context.Context, s *spec, id string) (*output, error) {
	stream, err := r.engine.ContainerAttach(ctx, id, client.ContainerAttachOptions{
		Stream: true, Stdout: true, Stderr: true, Stdin: len(s.stdin) > 0,
	})
	if err != nil {
		return nil, err
	}
	o := &output{stream: stream, left: r.cfg.Limits.OutputBytes, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		_, o.err = stdcopy.StdCopy(&share{o, &o.stdout, s.stdoutCopy}, &share{o, &o.stderr, s.stderrCopy}, stream.Reader)
	}()
	if len(s.stdin) > 0 {
		go func() { // ends with the connection; a process need not read all that it is given
			_, _ = stream.Conn.Write(s.stdin)
			_ = stream.CloseWrite()
		}()
	}
	return o, nil
}

// close ends the connection and waits until nothing more is written.
func (o *output) close() {
	o.stream.Close()
	<-o.done
}

// share is one of two streams with one limit.
type share struct {
	o      *output
	buffer *bytes.Buffer
	copy   io.Writer // takes the same as it comes; nil: nothing does
}

func (s *share) Write(p []byte) (int, error) {
	if s.o.left -= int64(len(p)); s.o.left < 0 {
		return 0, errOutput
	}
	if s.copy != nil {
		_, _ = s.copy.Write(p)
	}
	return s.buffer.Write(p)
}
