package cli

import (
	"errors"
	"io"
	"os"
	"testing"
)

// TestKeyReader: a screen that has ended takes no key of the next one, though it reads.
func TestKeyReader(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	keys := &keyReader{file: in}
	first := keys.screen()
	ended := make(chan error)
	go func() {
		_, err := first.Read(make([]byte, 10))
		ended <- err
	}()
	first.stop()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := out.WriteString("abc"); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(make([]byte, 10)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	second := keys.screen()
	two := make([]byte, 2)
	for _, want := range []string{"ab", "c"} {
		if n, err := second.Read(two); err != nil || string(two[:n]) != want {
			t.Errorf("%q, %v", two[:n], err)
		}
	}
	out.Close()
	if _, err := second.Read(two); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
