package testfile

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

func (d *decoder) mock(address string, p location) *Mock {
	m := &Mock{At: d.at(p), Address: address}
	switch list := p.value.(type) {
	case []any:
		m.List = true
		if len(list) == 0 {
			d.invalid(p, "must have at least one answer.", "Write {hangs: true} for a task that never ends.")
		}
		d.list(p, func(p location) { m.Entries = append(m.Entries, d.entry(p, 1)) })
	case map[string]any:
		m.Entries = []*Entry{d.entry(p, Always)}
	default:
		d.wrongType(p, "an answer (an object) or a list of answers", "Write for example {returns: …}.")
	}
	return m
}

var entryHints = map[string]string{
	"return": `Did you mean "returns"?`, "result": `Did you mean "returns"?`, "output": `Did you mean "returns"?`, "value": `Did you mean "returns"?`,
	"error": `Did you mean "raises"?`, "raise": `Did you mean "raises"?`, "fails": `Did you mean "raises"?`, "answer": `Did you mean "answers"?`,
	"status": `It belongs in "response" or "raises".`, "body": `It belongs in "response".`, "code": `It belongs in "process".`,
	"stdout": `It belongs in "process".`, "outcome": `It belongs in "answers".`, "delay": `Did you mean "after"?`,
}

// entry reads one answer. times is how often it answers unless it says so.
func (d *decoder) entry(p location, times int) *Entry {
	e := &Entry{At: d.at(p), Times: times}
	ok := d.object(p, nil, entryHints,
		property{"returns", func(p location) { e.Returns = p.value }},
		property{"response", func(p location) { e.Response = d.response(p) }},
		property{"process", func(p location) { e.Process = d.process(p) }},
		property{"raises", func(p location) { e.Raises = d.raises(p) }},
		property{"answers", func(p location) { e.Answers = d.answer(p) }},
		property{"messages", func(p location) {
			e.Messages = []value.Value{}
			d.list(p, func(p location) { e.Messages = append(e.Messages, p.value) })
		}},
		property{"hangs", d.yes},
		property{"real", func(p location) {
			if kind, ok := p.value.(string); ok && truth(kind) == "" {
				d.wrongType(p, "true", "Write true; --real "+kind+" allows it.")
				return
			}
			d.yes(p)
		}},
		property{"after", func(p location) { e.After = d.duration(p) }},
		property{"interrupted", func(p location) { e.Interrupted, _ = d.whole(p, 0, 100) }},
		property{"when", func(p location) { e.When = d.condition(p) }},
		property{"times", func(p location) {
			switch v := p.value.(type) {
			case string:
				if v != "always" {
					d.invalid(p, fmt.Sprintf(`must be a number or "always", but is %q.`, v), dsl.Suggest(v, []string{"always"}))
				}
				e.Times = Always
			default:
				e.Times, _ = d.whole(p, 1, MaxEntries)
			}
		}},
		property{"files", func(p location) { e.Files = d.files(p) }},
	)
	if !ok {
		return e
	}
	names := make([]string, len(Kinds))
	for i, kind := range Kinds {
		names[i] = string(kind)
	}
	e.Kind = Kind(d.exactlyOne(p, names...))
	if len(e.Files) > 0 && slices.Contains([]Kind{Raises, Hangs, Real, Answers}, e.Kind) {
		hint := ""
		if e.Kind == Answers {
			hint = `Files of a person belong in "answers".`
		}
		d.problem(p.property("files"), dsl.CodeConflict, fmt.Sprintf("%q has no files.", e.Kind), hint)
	}
	return e
}

func (d *decoder) response(p location) *Response {
	r := &Response{Status: 200}
	d.object(p, nil, map[string]string{"code": `Did you mean "status"?`, "statusCode": `Did you mean "status"?`, "content": `Did you mean "body"?`, "json": `Did you mean "body"?`},
		property{"status", func(p location) { r.Status, _ = d.whole(p, 100, 599) }},
		property{"headers", func(p location) {
			r.Headers = map[string]string{}
			d.named(p, "NAME: VALUE", func(name string, p location) { r.Headers[name] = d.text(p) })
		}},
		property{"body", func(p location) { r.Body, r.HasBody = p.value, true }},
	)
	return r
}

func (d *decoder) process(p location) *ProcessEnd {
	r := &ProcessEnd{}
	d.object(p, nil, map[string]string{"exit": `Did you mean "code"?`, "status": `Did you mean "code"?`, "output": `Did you mean "stdout"?`},
		property{"code", func(p location) { r.Code, _ = d.whole(p, 0, 255) }},
		property{"stdout", text(d, &r.Stdout)},
		property{"stderr", text(d, &r.Stderr)},
	)
	return r
}

// standardStatus has the status of the standard errors, by their short names.
var standardStatus = map[string]int{
	"configuration": 400, "validation": 400, "expression": 400, "authentication": 401, "authorization": 403,
	"timeout": 408, "communication": 500, "runtime": 500,
}

// standardTypes are these names.
var standardTypes = []string{"configuration", "validation", "expression", "authentication", "authorization", "timeout", "communication", "runtime"}

// errorType reads the type of an error: a short name or an address.
func (d *decoder) errorType(p location) string {
	s, ok := p.value.(string)
	if !ok {
		hint := ""
		if kindOf(p.value) == "a number" {
			hint = `Did you mean "status"?`
		}
		d.wrongType(p, "the type of an error (a text)", hint)
		return ""
	}
	if standardStatus[s] != 0 {
		return machine.ErrorBase + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		hint := dsl.Suggest(s, standardTypes)
		if hint == "" {
			hint = "The short names are " + strings.Join(standardTypes, ", ") + "."
		}
		d.invalid(p, fmt.Sprintf("is %q, which is neither an address nor the name of a standard error.", s), hint)
		return ""
	}
	return s
}

func (d *decoder) raises(p location) *Fault {
	f := &Fault{}
	if !d.object(p, []string{"type"}, nil,
		property{"type", func(p location) { f.Type = d.errorType(p) }},
		property{"status", func(p location) { f.Status, _ = d.whole(p, 100, 599) }},
		property{"title", text(d, &f.Title)},
		property{"detail", text(d, &f.Detail)},
	) {
		return f
	}
	if !p.has("status") && f.Type != "" {
		if f.Status = standardStatus[strings.TrimPrefix(f.Type, machine.ErrorBase)]; f.Status == 0 {
			d.problem(p, dsl.CodeRequired, `"raises" lacks the required property "status".`, "Only standard errors have one of their own.")
		}
	}
	return f
}

func (d *decoder) answer(p location) *Answer {
	a := &Answer{}
	d.object(p, nil, map[string]string{"form": `Did you mean "data"?`, "person": `Did you mean "by"?`},
		property{"outcome", filled(d, &a.Outcome)},
		property{"data", func(p location) { a.Data = p.value }},
		property{"comment", text(d, &a.Comment)},
		property{"by", filled(d, &a.By)},
		property{"files", func(p location) { a.Files = d.files(p) }},
	)
	return a
}

func (d *decoder) files(p location) (files []*FileRef) {
	d.list(p, func(p location) {
		f := &FileRef{At: d.at(p)}
		if d.object(p, []string{"name"}, map[string]string{"path": `Did you mean "from"?`, "content": `Did you mean "text"?`, "mediaType": `Did you mean "media_type"?`},
			property{"name", filled(d, &f.Name)},
			property{"from", filled(d, &f.From)},
			property{"text", func(p location) { f.Text, f.HasText = d.text(p), true }},
			property{"media_type", filled(d, &f.MediaType)},
		) && p.has("from") && p.has("text") {
			d.problem(p.property("text"), dsl.CodeConflict, `A file has both "from" and "text"; only one is allowed.`, "")
		}
		files = append(files, f)
	})
	return files
}
