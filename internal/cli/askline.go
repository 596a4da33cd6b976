package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// lineAsker asks line by line, with plain text alone.
type lineAsker struct {
	out   io.Writer
	lines chan string // closed at the end of the input
}

// maxAskedLine bounds a line that a person types, in bytes.
const maxAskedLine = 1 << 20

func newLineAsker(in io.Reader, out io.Writer) *lineAsker {
	a := &lineAsker{out: out, lines: make(chan string)}
	go func() { // a read of a terminal cannot be cancelled: it ends with the process
		defer close(a.lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxAskedLine)
		for scanner.Scan() {
			a.lines <- scanner.Text()
		}
	}()
	return a
}

// read is the next line.
func (a *lineAsker) read(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done(): // Ctrl-C
		return "", errLeft
	case line, ok := <-a.lines:
		if !ok {
			return "", errLeft
		}
		return strings.TrimSuffix(line, "\r"), nil
	}
}

func (a *lineAsker) ask(ctx context.Context, heading string, questions []*question) error {
	if heading != "" {
		fmt.Fprintf(a.out, "\n%s\n", heading)
	}
	for _, q := range questions {
		if err := a.one(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// one asks a question until it is answered.
func (a *lineAsker) one(ctx context.Context, q *question) error {
	fmt.Fprintf(a.out, "\n%s", q.title)
	if q.required {
		fmt.Fprint(a.out, " (required)")
	}
	fmt.Fprintln(a.out)
	if q.help != "" {
		fmt.Fprintln(a.out, "  "+strings.ReplaceAll(q.help, "\n", "\n  "))
	}
	if q.wrong != "" {
		fmt.Fprintln(a.out, "Wrong:", q.wrong)
	}
	for {
		text, chosen, err := a.answer(ctx, q)
		if err != nil {
			return err
		}
		if wrong := q.verdict(text, chosen); wrong != nil {
			fmt.Fprintln(a.out, "Wrong:", wrong)
			continue
		}
		q.text, q.chosen = text, chosen
		return nil
	}
}

func (a *lineAsker) answer(ctx context.Context, q *question) (text string, chosen []int, err error) {
	switch q.asks {
	case askOne, askSeveral:
		chosen, err = a.numbers(ctx, q)
		return "", chosen, err
	case askLines:
		text, err = a.several(ctx, q)
	default:
		if q.text != "" {
			fmt.Fprintf(a.out, "Now: %s\nEnter keeps it, a single - empties it.\n", printable(q.text))
		}
		fmt.Fprint(a.out, "> ")
		if text, err = a.read(ctx); q.text != "" && text == "" {
			text = q.text
		} else if q.text != "" && text == "-" {
			text = ""
		}
	}
	return text, nil, err
}

// several reads lines up to one with a dot.
func (a *lineAsker) several(ctx context.Context, q *question) (string, error) {
	if q.text != "" {
		fmt.Fprintf(a.out, "Now:\n  %s\nEnter keeps it, a single - empties it.\n", strings.ReplaceAll(printableLines(q.text), "\n", "\n  "))
	}
	fmt.Fprintln(a.out, "Several lines are possible; a line with a single . ends them.")
	var lines []string
	for {
		fmt.Fprint(a.out, "> ")
		line, err := a.read(ctx)
		switch {
		case err != nil:
			return "", err
		case line == ".":
			return strings.Join(lines, "\n"), nil
		case len(lines) == 0 && line == "":
			return q.text, nil
		case len(lines) == 0 && line == "-" && q.text != "":
			return "", nil
		}
		lines = append(lines, line)
	}
}

// numbers reads the numbers of options.
func (a *lineAsker) numbers(ctx context.Context, q *question) ([]int, error) {
	for i, option := range q.options {
		mark := " "
		if slices.Contains(q.chosen, i) {
			mark = "*"
		}
		fmt.Fprintf(a.out, "%s %d. %s\n", mark, i+1, option)
	}
	if q.asks == askSeveral {
		fmt.Fprintln(a.out, "Numbers with commas between them; Enter keeps those with a *, 0 chooses none.")
	} else {
		fmt.Fprintln(a.out, "A number; Enter keeps the one with a *.")
	}
	for {
		fmt.Fprint(a.out, "> ")
		line, err := a.read(ctx)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "" && (q.asks == askSeveral || len(q.chosen) > 0) {
			return q.chosen, nil
		}
		chosen, err := q.numbersOf(line)
		if err == nil {
			return chosen, nil
		}
		fmt.Fprintln(a.out, "Wrong:", err)
	}
}

// numbersOf are the options that a line names.
func (q *question) numbersOf(line string) (chosen []int, err error) {
	if q.asks == askSeveral && strings.TrimSpace(line) == "0" {
		return nil, nil
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(q.options) {
			return nil, fmt.Errorf("%q is not a number from 1 to %d", printable(word), len(q.options))
		}
		if !slices.Contains(chosen, n-1) {
			chosen = append(chosen, n-1)
		}
	}
	if q.asks == askOne && len(chosen) != 1 {
		return nil, errors.New("one number is needed")
	}
	return chosen, nil
}
