package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/chargehand/chargehand/internal/peer"
)

// openTerminal opens a terminal of that width, and sends what was written to it, up to and with end.
func openTerminal(t *testing.T, width uint16, end string) (out *os.File, written <-chan string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		peer.Skip(t, "this machine gives no terminal: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	out, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		peer.Skip(t, "this machine gives no terminal: %v", err)
	}
	t.Cleanup(func() { out.Close() })
	if err := unix.IoctlSetWinsize(int(out.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		t.Fatal(err)
	}
	texts := make(chan string, 1)
	go func() {
		var all bytes.Buffer
		piece := make([]byte, 4096)
		for !strings.Contains(all.String(), end) {
			n, err := master.Read(piece)
			if err != nil {
				break
			}
			all.Write(piece[:n])
		}
		texts <- all.String()
	}()
	return out, texts
}

// screen is what a terminal shows after some text, without the last line if that is empty. It complains about lines
// that are wider than the terminal: these would leave something behind when they are drawn again.
func screen(t *testing.T, text string, width int) []string {
	t.Helper()
	lines, column := [][]rune{nil}, 0
	for len(text) > 0 {
		if rest, cleared := strings.CutPrefix(text, "\x1b[K"); cleared {
			text, lines[len(lines)-1] = rest, lines[len(lines)-1][:column]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		last := len(lines) - 1
		switch r {
		case '\r':
			column = 0
		case '\n':
			lines, column = append(lines, nil), 0
		default:
			if column >= width {
				t.Fatalf("a line is wider than the terminal: %q", string(lines[last]))
			}
			lines[last] = append(lines[last][:column], r)
			column++
		}
	}
	var shown []string
	for _, line := range lines {
		shown = append(shown, string(line))
	}
	if shown[len(shown)-1] == "" {
		shown = shown[:len(shown)-1]
	}
	return shown
}

// TestStatusLineOnATerminal: the line at the bottom is drawn in place, other lines stay above it, and when it is closed
// nothing of it is left, as after Ctrl-C.
func TestStatusLineOnATerminal(t *testing.T) {
	for _, width := range []uint16{40, 80, 120} {
		out, written := openTerminal(t, width, "no longer following\r\n")
		drawn := make(chan struct{}, 1)
		line := newStatusLine(out)
		line.show(func() string {
			select {
			case drawn <- struct{}{}:
			default:
			}
			return "[=====       ] 1414 of 4000  35%  2 failed  120/s  21s left  " + strings.Repeat("pay: attempt 3 of 5 ", 6)
		})
		line.println("item 3 failed")
		for range 3 { // frames
			select {
			case <-drawn:
			case <-time.After(time.Minute):
				t.Fatal("the line is not drawn again")
			}
		}
		line.println("item 4 failed")
		line.close()
		line.close()
		fmt.Fprintln(out, "no longer following")
		text := <-written
		if got := screen(t, text, int(width)); !slices.Equal(got, []string{"item 3 failed", "item 4 failed", "no longer following"}) {
			t.Errorf("%d columns show %q", width, got)
		}
		if !strings.Contains(text, "1414 of 4000") {
			t.Errorf("%d columns: the line was never there: %q", width, text)
		}
	}
}
