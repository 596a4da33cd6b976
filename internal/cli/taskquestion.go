package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/value"
)

// Options that a question has beside those of its field.
const (
	optionNone = "(none)"
	optionYes  = "yes"
	optionNo   = "no"
)

// booleans are the texts of a draft that is true or false.
var booleans = []string{"true", "false"}

// A text that is edited on a screen has bounds: longer ones are read from a file.
const (
	maxEditedBytes = 8 << 10
	maxEditedLines = 80
)

// questionOf is a control as a question.
func (f *taskForm) questionOf(all []draft.Control, c *draft.Control) *question {
	field := c.Field
	q := &question{title: f.titleOf(all, c), help: helpOf(field), required: c.Required, text: c.Draft.Text}
	switch {
	case c.Role == draft.Variant:
		q.asks, q.chosen = askOne, slices.Clone(c.Draft.Chosen)
		for i := range field.Fields {
			title := printable(field.Fields[i].Title)
			if strings.Trim(title, "0123456789") == "" {
				title = fmt.Sprintf("form %d: %s", i+1, field.Fields[i].Kind)
			}
			q.options = append(q.options, title)
		}
		return q
	case field.Kind == form.Choice:
		q.asks = askOne
		q.options = optionTitles(field)
		q.chosen = slices.Clone(c.Draft.Chosen)
		if !c.Required {
			q.options = append(q.options, optionNone)
			if len(q.chosen) == 0 {
				q.chosen = []int{len(q.options) - 1}
			}
		}
		return q
	case field.Kind == form.Choices:
		q.asks, q.options, q.chosen = askSeveral, optionTitles(field), slices.Clone(c.Draft.Chosen)
	case field.Kind == form.Boolean:
		q.asks, q.options, q.chosen = askOne, []string{optionYes, optionNo}, []int{1}
		if !c.Required {
			q.options = append(q.options, optionNone)
			q.chosen[0] = 2
		}
		if i := slices.Index(booleans, c.Draft.Text); i >= 0 {
			q.chosen[0] = i
		}
		return q
	case field.Kind == form.File, field.Kind == form.Files:
		f.fileQuestion(c, q)
		return q
	case field.Kind == form.LongText, field.Kind == form.JSON, strings.Contains(c.Draft.Text, "\n"):
		q.asks = askLines
	}
	if field.Kind == form.JSON {
		q.help = strings.TrimSpace(q.help + "\nJSON, or @FILE to read it from a file.")
	}
	if len(q.text) > maxEditedBytes || strings.Count(q.text, "\n") > maxEditedLines {
		q.asks, q.text = askLine, ""
		q.help = strings.TrimSpace(q.help + fmt.Sprintf("\nIt has %d bytes: leave this empty to keep it, or write @FILE to read it from a file.", len(c.Draft.Text)))
	}
	q.check = func(text string, chosen []int) string {
		d, wrong := f.entered(c, q, text, chosen)
		if wrong == "" {
			wrong = c.Check(&d, f.local)
		}
		return printable(wrong)
	}
	return q
}

// entered is what a person says as the draft of a control, or what is wrong with it.
func (f *taskForm) entered(c *draft.Control, q *question, text string, chosen []int) (d draft.Draft, wrong string) {
	d = *c.Draft
	if q.asks == askSeveral {
		d.Chosen = chosen
		return d, ""
	}
	tooLong := q.asks == askLine && q.text == "" && (len(d.Text) > maxEditedBytes || strings.Count(d.Text, "\n") > maxEditedLines)
	path, isFile := strings.CutPrefix(strings.TrimSpace(text), "@")
	switch {
	case isFile && (tooLong || c.Field.Kind == form.JSON):
		data, err := os.ReadFile(path)
		if err != nil {
			return d, unreadable(err).Error()
		}
		d.Text = string(data)
	case tooLong && text == "":
	default:
		d.Text = text
	}
	return d, ""
}

// take puts what a person has said into the draft of a control.
func (f *taskForm) take(ctx context.Context, c *draft.Control, q *question) error {
	d := c.Draft
	switch {
	case c.Role == draft.Variant:
		d.Chosen = q.chosen
	case c.Field.Kind == form.Choice:
		if d.Chosen = q.chosen; len(q.chosen) > 0 && q.chosen[0] >= len(c.Field.Options) {
			d.Chosen = nil
		}
	case c.Field.Kind == form.Boolean:
		d.Text = []string{"true", "false", ""}[q.chosen[0]]
	case c.Field.Kind == form.File, c.Field.Kind == form.Files:
		return f.takeFiles(ctx, d, q.text)
	default:
		*d, _ = f.entered(c, q, q.text, q.chosen)
	}
	return nil
}

// fileQuestion asks for the paths of files.
func (f *taskForm) fileQuestion(c *draft.Control, q *question) {
	most := 1
	if c.Field.Kind == form.Files {
		q.asks, most = askLines, 100
	}
	var now []string
	for _, file := range c.Draft.Files {
		now = append(now, fileText(value.Marshal(file)))
	}
	q.help = strings.TrimSpace(q.help + "\nThe path of a file")
	if q.asks == askLines {
		q.help += " on each line"
	}
	if len(now) > 0 {
		q.help += "; empty keeps " + strings.Join(now, ", ") + ", none takes it out"
	}
	q.text = ""
	q.check = func(text string, _ []int) string {
		paths := pathsOf(text)
		switch {
		case len(paths) == 1 && paths[0] == "none" && len(now) > 0:
			return ""
		case len(paths) > most:
			return fmt.Sprintf("At most %d.", most)
		case len(paths) == 0 && len(now) == 0 && c.Required && c.Field.Kind == form.File && !c.Field.Nullable:
			return "Fill this in."
		}
		return missingFile(paths)
	}
}

// takeFiles uploads files and puts references to them into a draft.
func (f *taskForm) takeFiles(ctx context.Context, d *draft.Draft, text string) error {
	paths := pathsOf(text)
	switch {
	case len(paths) == 0:
		return nil
	case len(paths) == 1 && paths[0] == "none" && len(d.Files) > 0:
		d.Files = nil
		return nil
	}
	var files []value.Value
	for _, path := range paths {
		reference, err := uploadReference(ctx, f.api, path)
		if err != nil {
			return err
		}
		file, err := parseValue(reference)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	d.Files = files
	return nil
}

func optionTitles(f *form.Field) []string {
	titles := make([]string, len(f.Options))
	for i, o := range f.Options {
		titles[i] = printable(o.Title)
		if help := plainText(o.HelpHTML); help != "" {
			titles[i] += " – " + strings.ReplaceAll(help, "\n", " ")
		}
	}
	return titles
}

// titleOf names a control; an entry by its number.
func (f *taskForm) titleOf(all []draft.Control, c *draft.Control) string {
	title := printable(c.Field.Title)
	switch {
	case c.Role == draft.Entered:
		return fmt.Sprintf("Entry %d", c.Number+1)
	case title != "":
		return title
	}
	for i := range all {
		if c.Within != "" && all[i].Role == draft.Entered && all[i].Key == c.Within {
			return fmt.Sprintf("Entry %d", all[i].Number+1)
		}
	}
	return "Value"
}

// headingOf is the way to a control: the titles of what it is in.
func (f *taskForm) headingOf(all []draft.Control, c *draft.Control) string {
	var path []string
	for i := range all {
		other := &all[i]
		if strings.HasPrefix(c.Key, other.Key+"/") && other.Role != draft.Leaf && (other.Field.Title != "" || other.Role == draft.Entered) {
			path = append(path, f.titleOf(all, other))
		}
	}
	if c.Within == c.Key && len(path) > 0 {
		path = append(path, f.titleOf(all, &draft.Control{Role: draft.Leaf, Field: &form.Field{}, Within: c.Within}))
	}
	return strings.Join(path, " › ")
}

// maxBrief is the number of columns of a value in a line.
const maxBrief = 50

// brief is what was entered into a control, in a few words.
func (f *taskForm) brief(c *draft.Control) string {
	if c.Role == draft.Group {
		return entryCount(len(c.Draft.Entries))
	}
	if c.Role == draft.Variant {
		if len(c.Draft.Chosen) > 0 && c.Draft.Chosen[0] < len(c.Field.Fields) {
			return printable(c.Field.Fields[c.Draft.Chosen[0]].Title)
		}
		return "-"
	}
	field := c.Field
	if i := slices.Index(booleans, c.Draft.Text); field.Kind == form.Boolean && i >= 0 {
		return []string{optionYes, optionNo}[i]
	}
	if field.Kind == form.File || field.Kind == form.Files {
		var names []string
		for _, file := range c.Draft.Files {
			names = append(names, fileText(value.Marshal(file)))
		}
		return shortened(firstOf(strings.Join(names, ", "), "-"))
	}
	if field.Kind == form.Choice || field.Kind == form.Choices {
		var titles []string
		for _, i := range c.Draft.Chosen {
			if i >= 0 && i < len(field.Options) {
				titles = append(titles, field.Options[i].Title)
			}
		}
		return shortened(firstOf(strings.Join(titles, ", "), "-"))
	}
	return shortened(firstOf(c.Draft.Text, "-"))
}

// briefEntry is an entry in a few words.
func (f *taskForm) briefEntry(group *draft.Control, i int) string {
	e := &group.Draft.Entries[i]
	item := *group.Field.Items
	item.Required = true
	v, _ := draft.Read(&item, &e.Draft, f.local)
	text := string(value.Marshal(v))
	if object, ok := v.(map[string]any); ok {
		var parts []string
		for _, name := range value.SortedKeys(object) {
			parts = append(parts, name+": "+valueText(object[name]))
		}
		text = strings.Join(parts, ", ")
	} else if plain, ok := v.(string); ok {
		text = plain
	}
	if e.Name != "" {
		text = e.Name + ": " + text
	}
	return shortened(text)
}

func shortened(text string) string { return runewidth.Truncate(printable(text), maxBrief, "…") }

// helpOf is what a field says about itself: its description, bounds and example.
func helpOf(f *form.Field) string {
	var lines []string
	if help := plainText(f.HelpHTML); help != "" {
		lines = append(lines, help)
	}
	hint := map[form.Kind]string{
		form.Integer: "a whole number", form.Number: "a number", form.Date: "a date, such as 2026-01-31", form.Time: "a time of day, such as 09:30",
		form.DateTime: "a date with a time, such as 2026-01-31 09:30, in local time", form.Email: "an e-mail address", form.URI: "an address, such as https://example.com",
	}[f.Kind]
	if bounds := draft.Bounds(f); bounds != "" {
		hint = strings.TrimPrefix(hint+", "+bounds, ", ")
	}
	if f.Example != nil {
		hint = strings.TrimPrefix(hint+"; for example "+valueText(*f.Example), "; ")
	}
	if hint != "" {
		lines = append(lines, printable(hint))
	}
	return strings.Join(lines, "\n")
}

var (
	endsOfLines = regexp.MustCompile(`(?i)</(p|li|h[1-6]|tr|pre|blockquote)>|<br ?/?>`)
	htmlTags    = regexp.MustCompile(`<[^>]*>`)
)

// plainText is the text of HTML that the server has made of a description.
func plainText(source string) string {
	text := htmlTags.ReplaceAllString(endsOfLines.ReplaceAllString(source, "\n"), "")
	return strings.TrimSpace(printableLines(html.UnescapeString(text)))
}

// outlineOf is an outline as the form packages have it. Numbers stay exact.
func outlineOf(fields []client.FormField) ([]form.Field, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var outline []form.Field
	if err := decoder.Decode(&outline); err != nil {
		return nil, fmt.Errorf("read the form of the task: %w", err)
	}
	for i := range outline {
		if err := exact(&outline[i]); err != nil {
			return nil, fmt.Errorf("read the form of the task: %w", err)
		}
	}
	return outline, nil
}

// exact makes values of the numbers in a field that was read as JSON.
func exact(f *form.Field) (err error) {
	fix := func(v *any) {
		if v != nil && err == nil {
			var text []byte
			if text, err = json.Marshal(*v); err == nil {
				*v, err = parseValue(text)
			}
		}
	}
	fix(f.Default)
	fix(f.Example)
	for i := range f.Options {
		fix(&f.Options[i].Value)
	}
	if c := f.Constraints; c != nil {
		for _, bound := range []*any{c.Min, c.Max, c.ExclusiveMin, c.ExclusiveMax, c.MultipleOf, c.MinLength, c.MaxLength, c.MinItems, c.MaxItems} {
			fix(bound)
		}
	}
	for _, when := range []*form.Condition{f.When, f.RequiredWhen} {
		if when == nil {
			continue
		}
		for i := range when.Values {
			fix(&when.Values[i])
		}
	}
	for i := range f.Fields {
		if err == nil {
			err = exact(&f.Fields[i])
		}
	}
	if f.Items != nil && err == nil {
		err = exact(f.Items)
	}
	return err
}

// parseValue reads JSON that the server has sent.
func parseValue(text []byte) (value.Value, error) {
	return value.Parse(text, value.Limits{Bytes: len(text) + 1, Depth: value.MaxDepth, IntegerDigits: 1 << 20})
}
