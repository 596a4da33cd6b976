package testserve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What a worker wrote when it died says which bound it met; what says nothing of the kind is a fault of ours.
func TestStopped(t *testing.T) {
	died := errors.New("worker died: EOF")
	for words, want := range map[string]string{
		"":                                    "more memory",
		"fatal error: runtime: out of memory": "more memory",
		"runtime: mmap failed (errno=12)":     "more memory",
		"SIGSEGV: segmentation violation\naddr=0x0\n\truntime/mgcmark_greenteagc.go:520": "more memory",
		"runtime: goroutine stack exceeds 67108864-byte limit":                           "nested too deeply",
		"panic: index out of range":                                                      "",
		"SIGSEGV: segmentation violation\n\tinternal/machine/node.go:1":                  "",
	} {
		if why, known := stopped(died, words); known != (want != "") || !strings.Contains(why, want) {
			t.Errorf("%q: %q, %v, want %q", words, why, known, want)
		}
	}
	why, known := stopped(fmt.Errorf("exchange: %w", context.DeadlineExceeded), "SIGKILL")
	if !known || !strings.Contains(why, "did not end within 10s") {
		t.Errorf("%q, %v", why, known)
	}
}
