package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// column is one column of a table.
type column struct {
	name   string
	wide   bool // only with -o wide
	shrink bool // shortened first when the table is wider than the terminal
	right  bool // numbers
	spare  bool // left out when the table is too wide even after that
	below  bool // when the table is wider than the terminal, on lines of its own below its row
}

// columns reads a short description: names separated by blanks; a name that ends in * is for
// -o wide only, in ~ may be shortened, in > is right-aligned, in ? may be left out, in _ may go below its row.
func columns(text string) []column {
	var list []column
	for _, name := range strings.Fields(text) {
		bare := strings.TrimRight(name, "*~>?_")
		marks := name[len(bare):]
		has := func(mark string) bool { return strings.Contains(marks, mark) }
		list = append(list, column{bare, has("*"), has("~"), has(">"), has("?"), has("_")})
	}
	return list
}

const (
	minColumn   = 8 // what a column that may be shortened keeps
	belowIndent = "    "
	sameAsAbove = "the same"
)

// table writes rows under a header. Cells are plain text; words of states get their colour.
func (c *connection) table(head []column, rows [][]string, header bool) error {
	var shown []int
	for i := range head {
		if c.output == formatWide || !head[i].wide {
			shown = append(shown, i)
		}
	}
	widths := make([]int, len(head))
	for _, i := range shown {
		if header {
			widths[i] = runewidth.StringWidth(head[i].name)
		}
		for _, row := range rows {
			row[i] = printable(row[i])
			widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
		}
	}
	var below []int
	width := terminalWidth(c.out)
	if width > 0 && c.output != formatWide { // a program that reads gets everything
		shown, below = fit(head, shown, widths, width)
	}
	var text strings.Builder
	line := func(cell func(int) string, paint bool) {
		var out strings.Builder
		for n, i := range shown {
			value := runewidth.Truncate(cell(i), widths[i], "…")
			padding := strings.Repeat(" ", widths[i]-runewidth.StringWidth(value))
			if paint && (head[i].name == "STATUS" || head[i].name == "PHASE" || head[i].name == "STATE") {
				value = c.paintState(value)
			}
			if n > 0 {
				out.WriteString("  ")
			}
			if head[i].right {
				out.WriteString(padding + value)
			} else {
				out.WriteString(value + padding)
			}
		}
		text.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
	if header {
		line(func(i int) string { return head[i].name }, false)
	}
	for n, row := range rows {
		line(func(i int) string { return row[i] }, true)
		for _, i := range below {
			value := row[i]
			switch {
			case value == "":
				continue
			case n > 0 && rows[n-1][i] == value: // of another attempt, or of the task around it
				value = sameAsAbove
			}
			for _, part := range fold(value, width-len(belowIndent)) {
				text.WriteString(belowIndent + part + "\n")
			}
		}
	}
	_, err := io.WriteString(c.out, text.String())
	return err
}

// fit makes a table as narrow as the terminal, as far as its columns allow. Of those that are shown it returns those
// that stay beside each other, and those whose cells go below their rows.
func fit(head []column, shown, widths []int, width int) (beside, below []int) {
	total := func(of func(i int) int) int {
		sum := 2 * (len(shown) - 1)
		for _, i := range shown {
			sum += of(i)
		}
		return sum
	}
	whole := func(i int) int { return widths[i] }
	least := func(i int) int {
		if head[i].shrink {
			return min(widths[i], minColumn)
		}
		return widths[i]
	}
	without := func(gone func(i int) bool) (left []int) {
		return slices.DeleteFunc(slices.Clone(shown), gone)
	}
	if total(whole) > width {
		below = without(func(i int) bool { return !head[i].below })
		shown = without(func(i int) bool { return head[i].below })
	}
	for n := len(head) - 1; n >= 0 && total(least) > width; n-- {
		shown = without(func(i int) bool { return i == n && head[i].spare })
	}
	shrink(head, shown, widths, total(whole)-width)
	return shown, below
}

// shrink takes width away from the columns that may be shortened, the widest first.
func shrink(head []column, shown, widths []int, over int) {
	for ; over > 0; over-- {
		widest := -1
		for _, i := range shown {
			if head[i].shrink && widths[i] > minColumn && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// fold breaks text into lines of at most width columns, at its blanks where it has some.
func fold(text string, width int) (lines []string) {
	width = max(width, minColumn)
	current := ""
	for _, word := range strings.Fields(text) {
		switch {
		case current == "":
			current = word
		case runewidth.StringWidth(current)+1+runewidth.StringWidth(word) > width:
			lines, current = append(lines, current), word
		default:
			current += " " + word
		}
		for {
			head := cut(current, width)
			if len(head) == len(current) {
				break
			}
			lines, current = append(lines, head), current[len(head):]
		}
	}
	return append(lines, current)
}

// cut is the first part of text that has at most width columns. It looks no further than it has to, because
// fold cuts a long text into many parts.
func cut(text string, width int) string {
	for size := 16 * width; size < len(text); size *= 2 {
		start := size
		for start > size-utf8.UTFMax && !utf8.RuneStart(text[start]) {
			start--
		}
		if head := runewidth.Truncate(text[:start], width, ""); len(head) < start {
			return head
		}
	}
	return runewidth.Truncate(text, width, "")
}
