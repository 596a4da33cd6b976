package cli

import (
	"io"
	"os"
	"sync"
)

// keyReader hands the keys of a terminal to one screen after another. A screen that has ended may still read: of the
// terminal itself it would take the first key that is meant for the next one.
type keyReader struct {
	file   *os.File
	start  sync.Once
	chunks chan []byte // closed at the end of the input
}

// screen is the input of one screen, until stop is called. It counts as the terminal that the keys come from.
func (k *keyReader) screen() *screenKeys {
	k.start.Do(func() {
		k.chunks = make(chan []byte)
		go k.readAll()
	})
	return &screenKeys{from: k, done: make(chan struct{})}
}

// readAll reads until the end of the input or of the process: a read of a terminal cannot be cancelled.
func (k *keyReader) readAll() {
	defer close(k.chunks)
	for {
		chunk := make([]byte, 1024)
		n, err := k.file.Read(chunk)
		if n > 0 {
			k.chunks <- chunk[:n]
		}
		if err != nil {
			return
		}
	}
}

// screenKeys are the keys of one screen. One goroutine reads.
type screenKeys struct {
	from *keyReader
	left []byte
	done chan struct{}
}

// stop ends a read without a key.
func (s *screenKeys) stop() { close(s.done) }

func (s *screenKeys) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		select {
		case <-s.done:
			return 0, io.EOF
		default:
		}
		select {
		case <-s.done:
			return 0, io.EOF
		case chunk, ok := <-s.from.chunks:
			if !ok {
				return 0, io.EOF
			}
			s.left = chunk
		}
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Write, Close and Fd make it a terminal, which the screen puts into the mode that it needs.
func (s *screenKeys) Write(p []byte) (int, error) { return s.from.file.Write(p) }
func (s *screenKeys) Close() error                { return nil }
func (s *screenKeys) Fd() uintptr                 { return s.from.file.Fd() }
