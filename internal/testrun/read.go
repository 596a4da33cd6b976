package testrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxFileBytes bounds a file that a test reads: a fixture, a test file, a definition or snapshots.
const MaxFileBytes = 64 << 20

// ReadFile reads a file that a test names: a regular one (a pipe or a device might never end) of at most MaxFileBytes.
// Its errors are of the type *fs.PathError.
func ReadFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // else it waits for the other end of a pipe
	if err != nil {
		return nil, err
	}
	defer file.Close()
	err = regular(file.Stat())
	var content []byte
	if err == nil {
		content, err = io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	}
	if err == nil && len(content) > MaxFileBytes {
		err = errTooLarge
	}
	if failed := (*fs.PathError)(nil); err != nil && !errors.As(err, &failed) {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

var errTooLarge = fmt.Errorf("it has more than %d MiB, which a test may not read", MaxFileBytes>>20)

func regular(info os.FileInfo, err error) error {
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case info.Size() > MaxFileBytes:
		return errTooLarge
	}
	return nil
}
