package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

// printJSON writes v as indented JSON.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// print writes v as JSON, or as a table with one row each.
func (c *connection) print(v any, header string, rows [][]string) error {
	if c.output == "json" {
		return printJSON(c.out, v)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(w, strings.ReplaceAll(header, " ", "\t"))
	}
	for _, row := range rows {
		for i := range row {
			row[i] = printable(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// printable keeps text from a server from moving the cursor or breaking the table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return ' '
		}
		return r
	}, text)
}

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// paint colours text on a terminal unless NO_COLOR is set.
func (c console) paint(code, text string) string {
	if !terminal(c.err) || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (c console) paintStatus(status string) string {
	switch status {
	case "finished", "completed":
		return c.paint("32", status)
	case "error", "failed":
		return c.paint("31", status)
	case "human_in_the_loop":
		return c.paint("33", status)
	}
	return status
}
