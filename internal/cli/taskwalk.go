package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
)

// maxAskedTogether is how many questions are on one screen.
const maxAskedTogether = 5

// controls are those of the form as it is now.
func (f *taskForm) controls() []draft.Control {
	all, _ := draft.Controls(&f.whole, &f.draft, f.local)
	return all
}

// controlName tells a control from all others; an entry and the field in it have one key.
func controlName(c *draft.Control) string { return fmt.Sprint(int(c.Role), " ", c.Key) }

// fill asks for every control that is in the entry with a key (empty: in none) and that the person has not seen,
// until there is no more. What others show or hide is asked after them.
func (f *taskForm) fill(ctx context.Context, within string) error {
	for {
		controls := f.controls()
		together, list := f.next(controls, within)
		switch {
		case list != nil:
			f.asked[controlName(list)] = true
			if err := f.entries(ctx, list.Key); err != nil {
				return err
			}
		case len(together) == 0:
			return nil
		default:
			if err := f.askControls(ctx, controls, together, nil); err != nil {
				return err
			}
		}
	}
}

// next are the controls to be asked together, or the list or map to be edited.
func (f *taskForm) next(controls []draft.Control, within string) (together []*draft.Control, list *draft.Control) {
	var later []string // keys of controls below which nothing can be asked yet
	var waiting []*draft.Control
	for i := range controls {
		c := &controls[i]
		if c.Within != within || !c.There || c.Role == draft.Entered || c.Field.ReadOnly || f.asked[controlName(c)] || isBelow(c.Key, later) {
			continue
		}
		if f.waits(controls, c) {
			later, waiting = append(later, c.Key), append(waiting, c)
			continue
		}
		if c.Role == draft.Group {
			if !c.Extensible() {
				continue
			}
			if len(together) == 0 {
				return nil, c
			}
			return together, nil
		}
		if c.Role == draft.Variant {
			later = append(later, c.Key)
		}
		if together = append(together, c); len(together) == maxAskedTogether {
			return together, nil
		}
	}
	if len(together) == 0 && len(waiting) > 0 { // they wait for each other
		if waiting[0].Extensible() {
			return nil, waiting[0]
		}
		return waiting[:1], nil
	}
	return together, nil
}

// isBelow reports whether a control is inside one of some others.
func isBelow(key string, others []string) bool {
	for _, other := range others {
		if strings.HasPrefix(key, other+"/") {
			return true
		}
	}
	return false
}

// waits reports whether a condition of a control looks at one that the person has not seen yet.
func (f *taskForm) waits(controls []draft.Control, c *draft.Control) bool {
	for _, when := range []*form.Condition{c.Field.When, c.Field.RequiredWhen} {
		if when == nil {
			continue
		}
		key := c.Key[:strings.LastIndexByte(c.Key, '/')] + when.Pointer[strings.LastIndexByte(when.Pointer, '/'):]
		for i := range controls {
			other := &controls[i]
			if other.Key == key && other.There && !other.Field.ReadOnly && other.Role == draft.Leaf && !f.asked[controlName(other)] {
				return true
			}
		}
	}
	return false
}

// askControls asks for some controls together. wrong has what is wrong with them, by their names.
func (f *taskForm) askControls(ctx context.Context, all []draft.Control, together []*draft.Control, wrong map[string]string) error {
	questions := make([]*question, len(together))
	for i, c := range together {
		questions[i] = f.questionOf(all, c)
		questions[i].wrong = printableLines(wrong[controlName(c)])
	}
	if err := f.asker.ask(ctx, f.headingOf(all, together[0]), questions); err != nil {
		return err
	}
	for i, c := range together {
		f.asked[controlName(c)] = true
		if err := f.take(ctx, c, questions[i]); err != nil {
			return err
		}
	}
	return nil
}

// mend shows what is wrong, and asks for it again. What is wrong with an entry as a whole, or with a list, is mended
// in its list.
func (f *taskForm) mend(ctx context.Context, list []client.FieldError) error {
	wrong := map[string]string{}
	var order []string
	for _, e := range list {
		var key string
		switch c := draft.Find(f.controls(), e.Pointer); {
		case e.Pointer == filesPointer:
			if err := f.askFiles(ctx, e.Detail); err != nil {
				return err
			}
			continue
		case e.Pointer != elsewhere && c != nil && !c.Field.ReadOnly:
			key = controlName(c)
		default:
			fmt.Fprintf(f.err, "%s %s\n", f.paint("31", "wrong:"), printableLines(strings.TrimSpace(strings.TrimPrefix(e.Pointer, elsewhere)+" "+e.Detail)))
			continue
		}
		if _, known := wrong[key]; !known {
			order = append(order, key)
		}
		wrong[key] = strings.TrimSpace(wrong[key] + " " + e.Detail)
	}
	for _, key := range order {
		if err := f.again(ctx, key, wrong); err != nil {
			return err
		}
	}
	if len(order) == 0 && f.hasForm {
		return f.change(ctx)
	}
	return f.fill(ctx, "")
}

// again asks for a control with a name once more.
func (f *taskForm) again(ctx context.Context, key string, wrong map[string]string) error {
	controls := f.controls()
	for i := range controls {
		c := &controls[i]
		switch {
		case controlName(c) != key || !c.There:
		case c.Role == draft.Leaf || c.Role == draft.Variant:
			if err := f.askControls(ctx, controls, []*draft.Control{c}, wrong); err != nil {
				return err
			}
			return f.fill(ctx, c.Within)
		default:
			fmt.Fprintf(f.err, "%s %s: %s\n", f.paint("31", "wrong:"), f.titleOf(controls, c), printableLines(wrong[key]))
			if c.Role == draft.Entered {
				return f.entry(ctx, c.Key)
			}
			if c.Extensible() {
				return f.entries(ctx, c.Key)
			}
			return f.change(ctx)
		}
	}
	return nil
}

// change lets the person choose what to change.
func (f *taskForm) change(ctx context.Context) error {
	controls := f.controls()
	var options []string
	var chosen []*draft.Control
	for i := range controls {
		c := &controls[i]
		if !c.There || c.Within != "" || c.Field.ReadOnly || c.Role == draft.Entered || c.Role == draft.Group && !c.Extensible() {
			continue
		}
		options = append(options, strings.TrimSpace(strings.Repeat("  ", c.Depth)+f.titleOf(controls, c)+": "+f.brief(c)))
		chosen = append(chosen, c)
	}
	if f.task.Upload != nil {
		options = append(options, fmt.Sprintf("Files to give: %d", len(f.answer.Files)))
	}
	options = append(options, "(nothing)")
	at, err := choose(ctx, f.asker, "What do you want to change?", options, 0)
	switch {
	case err != nil:
		return err
	case at < len(chosen) && chosen[at].Role == draft.Group:
		return f.entries(ctx, chosen[at].Key)
	case at < len(chosen):
		if err := f.askControls(ctx, controls, chosen[at:at+1], nil); err != nil {
			return err
		}
		return f.fill(ctx, "")
	case f.task.Upload != nil && at == len(chosen):
		return f.askFiles(ctx, "they are given anew")
	}
	return nil
}

// control is the one with a role and a key; nil: none has them.
func (f *taskForm) control(role draft.Role, key string) *draft.Control {
	controls := f.controls()
	for i := range controls {
		if c := &controls[i]; c.Role == role && c.Key == key {
			return c
		}
	}
	return nil
}

// optionContinue ends the change of a list.
const optionContinue = "(continue)"

// entries lets the person add, change and remove the entries of a list or map.
func (f *taskForm) entries(ctx context.Context, key string) error {
	for {
		c := f.control(draft.Group, key)
		if c == nil || !c.There {
			return nil
		}
		n := len(c.Draft.Entries)
		options := []string{optionContinue, "Add an entry"}
		for _, verb := range []string{"Change", "Remove"} {
			for i := range c.Draft.Entries {
				options = append(options, fmt.Sprintf("%s %d: %s", verb, i+1, f.briefEntry(c, i)))
			}
		}
		title := fmt.Sprintf("%s: %s", f.titleOf(f.controls(), c), entryCount(n))
		if bounds := draft.Bounds(c.Field); bounds != "" {
			title += " (" + printable(bounds) + ")"
		}
		first := 0
		if n == 0 && c.Required {
			first = 1
		}
		at, err := choose(ctx, f.asker, title, options, first)
		switch at -= 2; {
		case err != nil:
			return err
		case at == -2:
			return nil
		case at == -1:
			c.Draft.Add(c.Field)
			err = f.entry(ctx, entryKey(c, n))
		case at < n:
			err = f.entry(ctx, entryKey(c, at))
		default:
			c.Draft.Remove(at - n)
		}
		if err != nil {
			return err
		}
	}
}

// entryKey is the key of an entry of a list or map.
func entryKey(c *draft.Control, i int) string { return fmt.Sprintf("%s/~e%d", c.Key, i) }

func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprint(n, " entries")
}

// entry asks for an entry, as if the person had not seen it.
func (f *taskForm) entry(ctx context.Context, key string) error {
	for other := range f.asked {
		if _, of, _ := strings.Cut(other, " "); of == key || strings.HasPrefix(of, key+"/") {
			delete(f.asked, other)
		}
	}
	if c := f.control(draft.Entered, key); c != nil && c.Named {
		q := &question{asks: askLine, title: fmt.Sprintf("Name of entry %d", c.Number+1), required: true, text: c.Entry.Name, check: func(text string, _ []int) string {
			if text == "" {
				return "An entry needs a name."
			}
			return ""
		}}
		if err := f.asker.ask(ctx, "", []*question{q}); err != nil {
			return err
		}
		c.Entry.Name = q.text
	}
	return f.fill(ctx, key)
}

// askFiles asks for the files that the task wants back, and again for as long as they cannot be stored: what was
// entered before is kept, and Ctrl-C leaves.
func (f *taskForm) askFiles(ctx context.Context, wrong string) error {
	u := f.task.Upload
	if u == nil || wrong == "" && len(f.answer.Files) > 0 {
		return nil
	}
	q := &question{
		asks: askLines, title: "Files to give", help: printable(uploadText(u)) + "\nThe path of one file on each line.", required: u.Required, wrong: printableLines(wrong),
		check: func(text string, _ []int) string {
			paths := pathsOf(text)
			if u.Required && len(paths) == 0 {
				return "The task asks for a file."
			}
			if len(paths) > u.Max {
				return fmt.Sprintf("At most %d files may be given.", u.Max)
			}
			return missingFile(paths)
		},
	}
	for {
		if err := f.asker.ask(ctx, "", []*question{q}); err != nil {
			return err
		}
		given := client.HumanTaskAnswer{}
		err := uploadAnswerFiles(ctx, f.api, pathsOf(q.text), &given)
		switch {
		case err == nil:
			f.answer.Files = given.Files
			return nil
		case ctx.Err() != nil:
			return errLeft
		}
		q.wrong = printableLines(err.Error())
	}
}

// pathsOf are the lines of a text that have something in them.
func pathsOf(text string) (paths []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			paths = append(paths, line)
		}
	}
	return paths
}

// missingFile says which of some files cannot be read; empty: all can.
func missingFile(paths []string) string {
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil {
			return printable(unreadable(err).Error())
		} else if info.IsDir() {
			return printable(path) + " is a folder."
		}
	}
	return ""
}
