package human

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// Problem is one thing that is wrong with a request.
type Problem struct {
	Pointer string // JSON pointer into `with`
	Code    string // of package dsl
	Detail  string // a sentence
	Hint    string // a sentence that says what to do; may be empty
}

// properties are those of `with`, in the order of the documentation.
var properties = []string{"title", "instructions", "assignees", "form", "data", "outcomes", "due", "remind", "priority", "show", "files",
	"upload", "answer_by_event"}

// Parse reads a request. dynamic tells the texts of a definition that are expressions: what they yield is checked when
// the task is opened. It is nil for a request whose expressions have been evaluated.
func Parse(v value.Value, dynamic func(text string) bool) (Request, []Problem) {
	p := &parser{dynamic: dynamic}
	r := Request{Priority: DefaultPriority}
	with, ok := p.object(v, "", properties...)
	if !ok {
		return r, p.problems
	}
	p.title(with, &r)
	if text, ok := p.text(with["instructions"], "/instructions"); ok {
		if r.Instructions = text; len(text) > MaxInstructions {
			p.wrong("/instructions", fmt.Sprintf("has %d bytes; at most %d are allowed.", len(text), MaxInstructions), "Put what is long into a file.")
		}
	}
	r.Assignees = p.assignees(with)
	p.form(with, &r)
	r.Outcomes = p.outcomes(with["outcomes"])
	r.Due = p.duration(with["due"], "/due")
	for i, item := range p.list(with["remind"], "/remind", MaxRemind) {
		if span := p.duration(item, fmt.Sprintf("/remind/%d", i)); span != nil {
			r.Remind = append(r.Remind, *span)
		}
	}
	r.Priority = p.integer(with["priority"], "/priority", DefaultPriority, 0, MaxPriority)
	r.Show = with["show"]
	r.Files = p.files(with["files"])
	r.Upload = p.upload(with["upload"])
	if r.AnswerByEvent = p.flag(with["answer_by_event"], "/answer_by_event"); r.AnswerByEvent && with["assignees"] != nil {
		p.wrong("/answer_by_event", "must be false where there are assignees: an event does not say which person has sent it.",
			"Leave out `assignees`, or let people answer by the API.")
	}
	return r, p.problems
}

func (p *parser) title(with map[string]any, r *Request) {
	v := with["title"]
	if v == nil {
		p.problem("", dsl.CodeRequired, `"with" lacks the required property "title".`, "Say in one line what the person is to do.")
		return
	}
	text, ok := p.text(v, "/title")
	switch n := utf8.RuneCountInString(text); {
	case !ok:
	case strings.TrimSpace(text) == "":
		p.wrong("/title", "must not be empty.", "")
	case n > MaxTitle:
		p.wrong("/title", fmt.Sprintf("has %d characters; at most %d are allowed.", n, MaxTitle), "Put the rest into `instructions`.")
	case strings.ContainsFunc(text, unicode.IsControl):
		p.wrong("/title", "must be one line without control characters.", "Put the rest into `instructions`.")
	}
	r.Title = text
}

// form reads the form and its data. Whether the form is a schema, the compiler of schemas says.
func (p *parser) form(with map[string]any, r *Request) {
	switch form := with["form"].(type) {
	case nil:
		if with["data"] != nil {
			p.wrong("/data", "is what a form is filled with, and there is no form.", "Give a `form`, or put the data into `show`.")
		}
	case map[string]any:
		r.Form, r.Data = form, with["data"]
	default:
		if !p.isDynamic(form) {
			p.wrongType("/form", "a JSON Schema (an object)", form)
		}
		r.Data = with["data"]
	}
}

func (p *parser) assignees(with map[string]any) (a Assignees) {
	p.notNull(with, "", "assignees")
	object, ok := p.object(with["assignees"], "/assignees", "users", "groups", "exclude")
	if !ok {
		return a
	}
	p.notNull(object, "/assignees", "users", "groups", "exclude")
	a.Users = p.people(object["users"], "/assignees/users", false)
	a.Groups = p.texts(object["groups"], "/assignees/groups", MaxAssignees)
	a.Exclude = p.people(object["exclude"], "/assignees/exclude", true)
	if n := len(a.Users) + len(a.Groups) + len(a.Exclude); n > MaxAssignees {
		p.wrong("/assignees", fmt.Sprintf("names %d people and groups; at most %d are allowed.", n, MaxAssignees), "Make a group of them.")
	}
	return a
}

// people reads ids and e-mail addresses of persons. An entry may be the `by` of an earlier answer. makers: it stands
// for those too who may stand behind that answer, and a person behind several answers is named once.
func (p *parser) people(v value.Value, pointer string, makers bool) (list []string) {
	for i, item := range p.list(v, pointer, MaxAssignees) {
		at := fmt.Sprintf("%s/%d", pointer, i)
		object, isObject := item.(map[string]any)
		if isObject {
			if item = object["id"]; item == nil {
				p.wrong(at, `has no "id".`, "Write an e-mail address, the id of a user, or the `by` of an earlier answer.")
				continue
			}
		}
		if text, ok := p.filled(item, at); ok && !(makers && isObject && slices.Contains(list, text)) {
			list = append(list, text)
		}
		via, _ := object["via"].(map[string]any)
		if maker := via["made_by"]; makers && maker != nil {
			if text, ok := p.filled(maker, at+"/via/made_by"); ok && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		if behind := via["behind"]; makers && behind != nil {
			for _, text := range p.texts(behind, at+"/via/behind", MaxAssignees) {
				if !slices.Contains(list, text) {
					list = append(list, text)
				}
			}
		}
	}
	return list
}

func (p *parser) outcomes(v value.Value) (list []Outcome) {
	if v == nil {
		return []Outcome{{Name: DefaultOutcome, Title: DefaultOutcome}}
	}
	items := p.list(v, "/outcomes", MaxOutcomes)
	if all, ok := v.([]any); ok && len(all) == 0 {
		p.wrong("/outcomes", "must have at least one outcome.", "Leave it out for the only outcome \""+DefaultOutcome+"\".")
	}
	for i, item := range items {
		at := fmt.Sprintf("/outcomes/%d", i)
		o, ok := p.outcome(item, at)
		if !ok {
			continue
		}
		if slices.ContainsFunc(list, func(other Outcome) bool { return other.Name == o.Name }) {
			p.problem(at, dsl.CodeDuplicate, fmt.Sprintf("There are two outcomes named %q.", o.Name), "")
			continue
		}
		list = append(list, o)
	}
	return list
}

func (p *parser) outcome(v value.Value, pointer string) (o Outcome, ok bool) {
	if _, isObject := v.(map[string]any); !isObject {
		o.Name, ok = p.filled(v, pointer)
		o.Title = o.Name
	} else if object, known := p.object(v, pointer, "name", "title", "style"); known {
		if object["name"] == nil {
			p.problem(pointer, dsl.CodeRequired, `An outcome lacks the required property "name".`, "")
			return o, false
		}
		o.Name, ok = p.filled(object["name"], pointer+"/name")
		if o.Title = o.Name; object["title"] != nil {
			o.Title, _ = p.filled(object["title"], pointer+"/title")
		}
		if style, given := p.text(object["style"], pointer+"/style"); given && !slices.Contains(Styles, style) {
			p.wrong(pointer+"/style", fmt.Sprintf("is %q.", style), fmt.Sprintf("It is one of %s.", strings.Join(Styles, ", ")))
		} else {
			o.Style = style
		}
	}
	if ok && len(o.Name) > 63 {
		p.wrong(pointer, "is longer than 63 bytes.", "")
	}
	return o, ok
}

// files reads references to files (docs/language/files.md).
func (p *parser) files(v value.Value) (list []value.Value) {
	for i, item := range p.list(v, "/files", MaxFiles) {
		at := fmt.Sprintf("/files/%d", i)
		switch item := item.(type) {
		case nil:
		case map[string]any:
			if _, ok := item["uri"].(string); !ok {
				p.wrong(at, `is no reference to a file: it has no "uri".`, "")
				continue
			}
			list = append(list, item)
		default:
			if !p.isDynamic(item) {
				p.wrongType(at, "a reference to a file (an object)", item)
			}
		}
	}
	return list
}

func (p *parser) upload(v value.Value) *Upload {
	object, ok := p.object(v, "/upload", "accept", "max", "required")
	if !ok {
		return nil
	}
	return &Upload{
		Accept:   p.texts(object["accept"], "/upload/accept", MaxFiles),
		Max:      p.integer(object["max"], "/upload/max", 1, 1, MaxFiles),
		Required: p.flag(object["required"], "/upload/required"),
	}
}

// token is one step of a JSON pointer.
func token(name string) string { return "/" + jsonpointer.Escape(name) }
