package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"charm.land/huh/v2"
)

// screenAsker asks on a screen that is drawn again with each key.
type screenAsker struct {
	console
	keys *keyReader
}

// maxShownOptions is how many lines the options of a question take at most; more are scrolled.
const maxShownOptions = 10

func (a *screenAsker) ask(ctx context.Context, heading string, questions []*question) error {
	var fields []huh.Field
	var takes []func()
	for _, q := range questions {
		f, take := fieldOf(q)
		fields, takes = append(fields, f), append(takes, take)
	}
	group := huh.NewGroup(fields...)
	if heading != "" {
		group.Title(heading)
	}
	keys := a.keys.screen()
	defer keys.stop()
	err := huh.NewForm(group).WithTheme(huh.ThemeFunc(huh.ThemeBase16)).WithInput(keys).WithOutput(a.err).RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) || ctx.Err() != nil {
		return errLeft
	}
	if err != nil {
		return err
	}
	for _, take := range takes {
		take()
	}
	return nil
}

// description is what is below the title of a question.
func (q *question) description() string {
	text := q.help
	if q.wrong != "" {
		text = strings.TrimSpace("✗ " + q.wrong + "\n" + text)
	}
	return text
}

// heading is the title of a question.
func (q *question) heading() string {
	if q.required && q.asks != askOne {
		return q.title + " *"
	}
	return q.title
}

// fieldOf is a question as a field of a screen, and what takes over what the person says.
func fieldOf(q *question) (huh.Field, func()) {
	switch q.asks {
	case askOne:
		return oneOf(q)
	case askSeveral:
		return severalOf(q)
	}
	// A screen edits no control characters. What the person leaves as it is stays as it is.
	shown := printable(q.text)
	if q.asks == askLines {
		shown = printableLines(q.text)
	}
	text := shown
	take := func() {
		if text != shown {
			q.text = text
		}
	}
	check := func(text string) error {
		if text == shown {
			text = q.text
		}
		return q.verdict(text, nil)
	}
	if q.asks == askLines {
		lines := min(max(strings.Count(shown, "\n")+2, 4), maxShownOptions)
		f := huh.NewText().Title(q.heading()).Description(q.description()).Lines(lines).CharLimit(0).ExternalEditor(false).Value(&text).Validate(check)
		return f, take
	}
	return huh.NewInput().Title(q.heading()).Description(q.description()).Value(&text).Validate(check), take
}

// height is the number of lines of a question with options: these, its title and its description.
func (q *question) height() int {
	lines := min(len(q.options), maxShownOptions) + 1
	if text := q.description(); text != "" {
		lines += strings.Count(text, "\n") + 1
	}
	return lines
}

func optionsOf(q *question) []huh.Option[int] {
	options := make([]huh.Option[int], len(q.options))
	for i, title := range q.options {
		options[i] = huh.NewOption(title, i)
	}
	return options
}

func oneOf(q *question) (huh.Field, func()) {
	chosen := 0
	if len(q.chosen) > 0 {
		chosen = q.chosen[0]
	}
	f := huh.NewSelect[int]().Title(q.heading()).Description(q.description()).Options(optionsOf(q)...).Value(&chosen).
		Validate(func(i int) error { return q.verdict("", []int{i}) })
	return f.Height(q.height()), func() { q.chosen = []int{chosen} }
}

func severalOf(q *question) (huh.Field, func()) {
	chosen := slices.Clone(q.chosen)
	f := huh.NewMultiSelect[int]().Title(q.heading()).Description(q.description()).Options(optionsOf(q)...).Value(&chosen).
		Validate(func(list []int) error { return q.verdict("", list) })
	return f.Height(q.height()), func() {
		slices.Sort(chosen)
		q.chosen = chosen
	}
}
