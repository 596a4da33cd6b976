package client

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestArchive: an archive arrives as it was sent, and one that was cut off is an error.
func TestArchive(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "PK the beginning")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c, s := serve(t, nil, problemAnswer(429, "rate_limited"), answer(200, "PK"), cut, problemAnswer(422, "archive_too_large"))
	var got strings.Builder
	if n, err := c.Archive(t.Context(), "w", "e-1", &got); err != nil || n != 2 || got.String() != "PK" {
		t.Errorf("%d bytes, %q, %v", n, got.String(), err)
	}
	if path := s.seen[1].uri; !strings.HasSuffix(path, "/workflows/w/executions/e-1/archive") {
		t.Errorf("asked for %s", path)
	}
	if _, err := c.Archive(t.Context(), "w", "e-1", io.Discard); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "not complete") {
		t.Errorf("one that was cut off: %v", err)
	}
	var refused *Error
	if _, err := c.Archive(t.Context(), "w", "e-1", io.Discard); !errors.As(err, &refused) || refused.Code != "archive_too_large" {
		t.Errorf("one that was refused: %v", err)
	}
}
