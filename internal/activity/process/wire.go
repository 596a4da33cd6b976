package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The descriptors of a supervisor beside stdin, stdout and stderr.
const (
	controlFD = 3 // from the server: one frame with the spec, then single bytes; end of file: kill
	statusFD  = 4 // to the server: frames with a status
)

// stopByte on the control pipe asks for SIGTERM, and SIGKILL after Limits.Grace.
const stopByte = 't'

// spec is what a supervisor is to do.
type spec struct {
	Path       string
	Args       []string // argv, with argv[0]
	Env        []string
	Dir        string   // the private directory: working directory, writable
	ReadPaths  []string // read and execute
	Limits     Limits
	Threads    int    // RLIMIT_NPROC: threads of this user that are allowed; 0: leave it
	Cgroup     string // of the command alone; "": none
	Namespaced bool   // the supervisor was started in namespaces of its own
	Filtered   bool   // the kernel can filter system calls
	Unconfined bool   // the kernel has no Landlock
}

// status is what a supervisor tells: first Pid (none from a PID namespace, where numbers mean
// nothing to the server) or StartError, then, once nothing of the
// command is left, the rest with Ended.
type status struct {
	Pid        int    `json:",omitempty"`
	StartError string `json:",omitempty"`

	Ended    bool          `json:",omitempty"`
	Code     int           `json:",omitempty"` // exit code, or 128 + signal
	Signal   string        `json:",omitempty"`
	Limit    Limit         `json:",omitempty"`
	Stopped  bool          `json:",omitempty"` // by the stop byte
	CPU      time.Duration `json:",omitempty"`
	MaxBytes int64         `json:",omitempty"` // resident memory of the largest process
}

// maxFrameBytes bounds a frame; argv and environment are bounded by the kernel to less.
const maxFrameBytes = 64 << 20

// WriteFrame writes a 4-byte length and payload. Workers speak in frames, too.
func WriteFrame(w io.Writer, payload []byte) error {
	if len(payload) > maxFrameBytes {
		return fmt.Errorf("frame of %d bytes: the limit is %d", len(payload), maxFrameBytes)
	}
	frame := make([]byte, 4+len(payload))
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	copy(frame[4:], payload)
	_, err := w.Write(frame)
	return err
}

// ReadFrame reads what WriteFrame wrote. io.EOF: there is no further frame.
func ReadFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrameBytes {
		return nil, fmt.Errorf("frame of %d bytes: the limit is %d", size, maxFrameBytes)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return payload, nil
}

func writeJSON(w io.Writer, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFrame(w, payload)
}

func readJSON(r io.Reader, v any) error {
	payload, err := ReadFrame(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(payload, v)
}
