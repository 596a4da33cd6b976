package cli

import (
	"context"
	"errors"
	"os"
)

// asks says how a question is asked.
type asks int

const (
	askLine    asks = iota // a text of one line
	askLines               // a text of several lines
	askOne                 // one of some options
	askSeveral             // any of some options
)

// question is asked of a person. What it has is shown, and what the person says takes its place. All texts that are
// shown are printable.
type question struct {
	asks     asks
	title    string
	help     string // may have several lines
	wrong    string // what is wrong with what it has; empty: nothing is known to be
	required bool
	text     string   // of lines
	options  []string // to choose from
	chosen   []int    // of the options; of askOne one
	// check says what is wrong with what the person says; empty: nothing is. nil: nothing can be.
	check func(text string, chosen []int) string
}

// verdict is what is wrong with what the person says.
func (q *question) verdict(text string, chosen []int) error {
	if q.check == nil {
		return nil
	}
	if wrong := q.check(text, chosen); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// asker asks a person questions that belong together, under a heading that may be empty. Errors: errLeft, and what
// keeps it from asking.
type asker interface {
	ask(ctx context.Context, heading string, questions []*question) error
}

// errLeft is returned when the person leaves instead of answering.
var errLeft = errors.New("left without an answer")

// choose asks for one of some options and returns its number.
func choose(ctx context.Context, a asker, title string, options []string, at int) (int, error) {
	q := &question{asks: askOne, title: title, options: options, chosen: []int{at}}
	if err := a.ask(ctx, "", []*question{q}); err != nil {
		return 0, err
	}
	return q.chosen[0], nil
}

// newAsker asks on the terminal: on a screen that is drawn, or line by line where NO_COLOR or TERM=dumb ask for what
// every terminal and every reader of screens understands, or where standard error is no terminal.
func (c console) newAsker() asker {
	keys, ok := c.in.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !terminal(c.err) {
		return newLineAsker(c.in, c.err)
	}
	return &screenAsker{c, &keyReader{file: keys}}
}

// asksPeople reports whether there is a person at a terminal to ask.
func (c console) asksPeople() bool {
	in, ok := c.in.(*os.File)
	return ok && terminal(in)
}
