package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
)

func TestTableWithinTheWidth(t *testing.T) {
	head := columns("ID WORKFLOW~ TOTAL> NOTE~ WIDE*")
	widths := []int{8, 30, 5, 60, 10}
	shrink(head, []int{0, 1, 2, 3}, widths, 8+30+5+60+3*2-80)
	if sum := widths[0] + widths[1] + widths[2] + widths[3] + 3*2; sum != 80 || widths[0] != 8 || widths[2] != 5 {
		t.Errorf("%v, %d columns", widths, sum)
	}
	var out bytes.Buffer
	c := connection{console: console{nil, &out, &out}, output: formatTable}
	if err := c.table(head, [][]string{{"1", "a/b", "12", "x\x1b[31m\ny", "hidden"}}, true); err != nil {
		t.Fatal(err)
	}
	if want := "ID  WORKFLOW  TOTAL  NOTE\n1   a/b          12  x [31m y\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestWhatLeavesATable: what may go below its row goes first, then, while the others cannot be made narrow enough,
// what may be left out, from the right.
func TestWhatLeavesATable(t *testing.T) {
	head := columns("SEQ> TASK~ KIND? STARTED? WHY_")
	for _, c := range []struct {
		width, why    int
		beside, below []int
		task          int
	}{
		{80, 10, []int{0, 1, 2, 3, 4}, nil, 20},
		{80, 100, []int{0, 1, 2, 3}, []int{4}, 20},
		{40, 10, []int{0, 1, 2, 3}, []int{4}, 12},
		{30, 10, []int{0, 1, 2}, []int{4}, 17},
		{20, 10, []int{0, 1}, []int{4}, 14},
		{5, 10, []int{0, 1}, []int{4}, 8},
	} {
		widths := []int{4, 20, 5, 13, c.why}
		beside, below := fit(head, []int{0, 1, 2, 3, 4}, widths, c.width)
		if !slices.Equal(beside, c.beside) || !slices.Equal(below, c.below) || widths[1] != c.task {
			t.Errorf("within %d columns: %v beside each other, %v below, the task within %d", c.width, beside, below, widths[1])
		}
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one": "one", " one  two three four": "one two|three four", "https://example.com/orders no": "https://ex|ample.com/|orders no", "日本語日本語 x": "日本語日本|語 x",
	} {
		if got := strings.Join(fold(text, 10), "|"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestFoldLongWord: a word that is long takes time that grows with its length, not with its square. The lines are those
// that Truncate cuts from all that is left, also where characters join.
func TestFoldLongWord(t *testing.T) {
	done := make(chan []string, 1)
	go func() { done <- fold(strings.Repeat("x", 4<<20), 80) }()
	select {
	case lines := <-done:
		if len(lines) != 4<<20/80+1 {
			t.Error(len(lines), "lines")
		}
	case <-time.After(time.Minute):
		t.Fatal("it takes more than a minute")
	}
	for _, unit := range []string{"x", "日", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽a", "\u200b", "가x", "x" + strings.Repeat("\u0301", 700), "\xff"} {
		word := strings.Repeat(unit, 300)
		var want []string
		for rest := word; ; {
			head := runewidth.Truncate(rest, 10, "")
			want, rest = append(want, head), rest[len(head):]
			if rest == "" {
				break
			}
		}
		if got := fold(word, 10); !slices.Equal(got, want) {
			t.Errorf("%.40q is %.400q, want %.400q", unit, got, want)
		}
	}
}
