package logtest

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
)

// Buffer is a log in memory. The zero value is an empty one.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// New is a logger that writes lines of JSON into a new buffer, from a level on.
func New(level slog.Level) (*slog.Logger, *Buffer) {
	b := &Buffer{}
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level})), b
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is the text of the log so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Take returns the lines of JSON so far, and empties the buffer.
func (b *Buffer) Take() []map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := parse(b.text.String(), func(map[string]any) bool { return true })
	b.text.Reset()
	return lines
}

// With returns the lines of JSON with a message.
func (b *Buffer) With(message string) []map[string]any {
	return parse(b.String(), func(line map[string]any) bool { return line["msg"] == message })
}

// Count counts the lines that contain all of some texts.
func (b *Buffer) Count(texts ...string) (n int) {
	for line := range strings.Lines(b.String()) {
		has := true
		for _, text := range texts {
			has = has && strings.Contains(line, text)
		}
		if has {
			n++
		}
	}
	return n
}

// parse reads lines of JSON. A line that is none is shown as a line whose message is its text.
func parse(text string, wanted func(map[string]any) bool) (found []map[string]any) {
	for text := range strings.Lines(text) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			line = map[string]any{"msg": text}
		}
		if wanted(line) {
			found = append(found, line)
		}
	}
	return found
}
