package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// statusLine is one line at the bottom of a terminal that is drawn again while something is
// followed, with lines that stay above it. Where there is no terminal only those are written.
type statusLine struct {
	out io.Writer

	mu    sync.Mutex
	text  func() string // nil: nothing to show
	drawn bool
	frame int

	quit, ended chan struct{}
	once        sync.Once
}

const (
	frameTime   = 100 * time.Millisecond
	clearLine   = "\r\x1b[K"
	narrowWidth = 40 // of a terminal that does not say how wide it is
)

var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func newStatusLine(out io.Writer) *statusLine {
	l := &statusLine{out: out, quit: make(chan struct{}), ended: make(chan struct{})}
	if !terminal(out) {
		close(l.ended)
		return l
	}
	go l.animate()
	return l
}

func (l *statusLine) animate() {
	defer close(l.ended)
	ticker := time.NewTicker(frameTime)
	defer ticker.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-ticker.C:
			l.mu.Lock()
			l.frame++
			l.draw()
			l.mu.Unlock()
		}
	}
}

// draw writes the line again. The caller holds the lock.
func (l *statusLine) draw() {
	if l.text == nil || !terminal(l.out) {
		return
	}
	width := max(terminalWidth(l.out), narrowWidth) - 3 // Ctrl-C is echoed behind the text
	text := truncate(frames[l.frame%len(frames)]+" "+printable(l.text()), width)
	fmt.Fprint(l.out, clearLine+text)
	l.drawn = true
}

// show replaces the line. text is called for every frame.
func (l *statusLine) show(text func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
	l.draw()
}

// println writes a line that stays.
func (l *statusLine) println(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn {
		fmt.Fprint(l.out, clearLine)
		l.drawn = false
	}
	fmt.Fprintln(l.out, text)
	l.draw()
}

// close takes the line away. What is written afterwards begins at the left.
func (l *statusLine) close() {
	l.once.Do(func() {
		close(l.quit)
		<-l.ended
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.text = nil; l.drawn {
			fmt.Fprint(l.out, clearLine)
			l.drawn = false
		}
	})
}

// terminalWidth is how wide a terminal is; 0: w is none.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// escapes are the sequences that colour text.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// truncate shortens text, which may hold colours, to width columns.
func truncate(text string, width int) string {
	if runewidth.StringWidth(escapes.ReplaceAllString(text, "")) <= width {
		return text
	}
	var out strings.Builder
	columns, coloured := 0, false
	for len(text) > 0 {
		if at := escapes.FindStringIndex(text); at != nil && at[0] == 0 {
			coloured = text[:at[1]] != "\x1b[0m"
			out.WriteString(text[:at[1]])
			text = text[at[1]:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if columns += runewidth.RuneWidth(r); columns >= width {
			break
		}
		out.WriteString(text[:size])
		text = text[size:]
	}
	out.WriteString("…")
	if coloured {
		out.WriteString("\x1b[0m")
	}
	return out.String()
}

// bar draws how much of a whole is done, in so many columns.
func bar(done, total, width int) string {
	filled := 0
	if total > 0 {
		filled = width * min(done, total) / total
	}
	return "[" + strings.Repeat("=", filled) + strings.Repeat(" ", width-filled) + "]"
}
