package process

import (
	"bytes"
	"testing"
	"time"
)

// TestOutputPipeHasRoom: a command may write a lot while the server takes nothing.
func TestOutputPipeHasRoom(t *testing.T) {
	var s streams
	to := blockedWriter{begun: make(chan struct{}), release: make(chan struct{}), taken: &bytes.Buffer{}}
	w, err := s.collect(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-to.begun
	if err := w.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("y"), outputPipeBytes)
	if n, err := w.Write(text); err != nil {
		t.Errorf("%d bytes were written: %v", n, err)
	}
	close(to.release)
	w.Close()
	s.drain()
	if want := append([]byte("x"), text...); !bytes.Equal(to.taken.Bytes(), want) {
		t.Errorf("%d bytes have come, want %d", to.taken.Len(), len(want))
	}
}

// blockedWriter says when it is first written to, and takes nothing before its release.
type blockedWriter struct {
	begun, release chan struct{}
	taken          *bytes.Buffer
}

func (w blockedWriter) Write(p []byte) (int, error) {
	if w.taken.Len() == 0 {
		close(w.begun)
		<-w.release
	}
	return w.taken.Write(p)
}
