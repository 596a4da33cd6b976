package testrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// defaultPerson answers where a test does not say who does.
const defaultPerson = "person@example.org"

// person answers a human task. An answer that the service would refuse is an error of the test.
func (p *play) person(e *rehearse.Execution, c machine.Command) (rehearse.Answer, error) {
	a := asking{
		reference: p.prefixes[e.Identity.Execution] + c.Reference, kind: "human", what: "human task", args: c.Args,
		iteration: c.Iteration, attempt: c.Attempt, nowMs: e.NowMs(),
	}
	p.note(a)
	request, _ := human.Parse(c.Args, nil)
	entry, err := p.entry(a)
	if err != nil {
		return rehearse.Answer{}, err
	}
	if entry == nil {
		if entry, err = p.exampleOr(a); err != nil {
			return rehearse.Answer{}, err
		}
	}
	answer := p.answer(entry, a)
	switch entry.Kind {
	case testfile.Hangs:
		answer.Hangs = true
		return answer, nil
	case testfile.Returns:
		answer.Output = p.filled(entry.Returns)
		answer.Files, err = p.made(entry.Files)
		return answer, err
	}
	given := entry.Answers
	wrong := func(format string, args ...any) (rehearse.Answer, error) {
		return answer, &Error{Code: CodeWrongAnswer, At: entry.At,
			Detail: fmt.Sprintf("The answer to %q would be refused: %s", p.addressOf(a.reference), fmt.Sprintf(format, args...))}
	}
	outcome, complaint := outcomeOf(&request, given.Outcome)
	if complaint != "" {
		return wrong("%s", complaint)
	}
	data := p.filled(given.Data)
	if data, complaint = formData(&request, data); complaint != "" {
		return wrong("%s", complaint)
	}
	by, complaint := p.whoAnswers(&request.Assignees, given.By)
	if complaint != "" {
		return wrong("%s", complaint)
	}
	files, err := p.made(given.Files)
	if err != nil {
		return answer, err
	}
	if complaint = uploads(&request, files); complaint != "" {
		return wrong("%s", complaint)
	}
	said := human.Answer{
		Outcome: outcome, Data: data, Comment: given.Comment,
		By: human.By{ID: by, Name: by, Via: human.Via{Kind: human.ViaSession, ID: "test"}},
		At: time.UnixMilli(a.nowMs + answer.AfterMs).UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	for _, f := range files {
		said.Files = append(said.Files, f.Reference())
	}
	answer.Output, answer.Files = said.Output(), files
	answer.Taken = func() { p.observe.outcome(p.units[e.Identity.Execution], c.Reference, outcome) }
	return answer, nil
}

// outcomeOf is the outcome of an answer: the given one, or else the only one.
func outcomeOf(request *human.Request, given string) (outcome, complaint string) {
	names := make([]string, len(request.Outcomes))
	for i, o := range request.Outcomes {
		names[i] = o.Name
	}
	if given == "" {
		if len(names) == 1 {
			return names[0], ""
		}
		return "", "it names no outcome. The outcome is one of " + strings.Join(names, ", ") + "."
	}
	if _, known := request.Outcome(given); !known {
		hint := dsl.Suggest(given, names)
		if hint == "" {
			hint = "The outcome is one of " + strings.Join(names, ", ") + "."
		}
		return "", fmt.Sprintf("there is no outcome %q. %s", given, hint)
	}
	return given, ""
}

// formData holds the data of an answer to the form.
func formData(request *human.Request, data value.Value) (value.Value, string) {
	if request.Form == nil {
		if data != nil {
			return nil, "the task asks for no data."
		}
		return nil, ""
	}
	if data == nil {
		data = map[string]any{}
	}
	if size := len(value.Marshal(data)); size > human.MaxAnswerBytes {
		return nil, fmt.Sprintf("the data takes %d bytes; at most %d are allowed.", size, human.MaxAnswerBytes)
	}
	schema, err := plan.CompileForm(request.Form)
	if err != nil {
		return nil, "the form of the task cannot be read: " + err.Error() + "."
	}
	problems := schema.Validate(data)
	if len(problems) == 0 {
		return data, ""
	}
	complaint := "data" + problems[0].Pointer + ": " + problems[0].Detail
	if more := len(problems) - 1; more > 0 {
		complaint += fmt.Sprintf(" (and %d more)", more)
	}
	return nil, complaint + "."
}

// key is how persons are compared.
func key(who string) string {
	who = strings.TrimSpace(who)
	if _, key, complaint := person.Email(who); complaint == "" {
		return key
	}
	return strings.ToLower(who)
}

func among(list []string, who string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return key(one) == key(who) })
}

// whoAnswers is who gives an answer. Exclusions always count, assignees where the test says who there is.
func (p *play) whoAnswers(a *human.Assignees, given string) (who, complaint string) {
	people := p.merged.People
	refused := func(who string) string {
		if among(a.Exclude, who) {
			return fmt.Sprintf("the task excludes %s.", who)
		}
		if len(people) == 0 || !a.Assigned() || among(a.Users, who) {
			return ""
		}
		var groups []string
		for name, one := range people {
			if key(name) == key(who) {
				groups = one.Groups
			}
		}
		if slices.ContainsFunc(a.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			return ""
		}
		return fmt.Sprintf("the task is assigned to %s, and %s is none of them.", strings.Join(slices.Concat(a.Users, a.Groups), ", "), who)
	}
	if given != "" {
		if len(people) > 0 && !among(slices.Collect(maps.Keys(people)), given) {
			hint := dsl.Suggest(given, slices.Sorted(maps.Keys(people)))
			return "", strings.TrimSpace(fmt.Sprintf("there is no %s in `people`. %s", given, hint))
		}
		return given, refused(given)
	}
	candidates := slices.Sorted(maps.Keys(people))
	if len(people) == 0 {
		candidates = append(slices.Clone(a.Users), defaultPerson)
	}
	for _, one := range candidates {
		if refused(one) == "" {
			return one, ""
		}
	}
	return "", "none of `people` may answer it: it is assigned to " + strings.Join(slices.Concat(a.Users, a.Groups), ", ") + "."
}

// uploads holds the files of an answer to what the task asks for.
func uploads(request *human.Request, files []machine.File) string {
	u := request.Upload
	switch {
	case u == nil && len(files) > 0:
		return "the task asks for no files."
	case u == nil:
		return ""
	case len(files) > u.Max:
		return fmt.Sprintf("at most %d files may be given.", u.Max)
	case u.Required && len(files) == 0:
		return "the task asks for a file."
	}
	for _, f := range files {
		if !u.Accepts(f.Name, f.MediaType) {
			return fmt.Sprintf("the file %s is none of: %s.", f.Name, strings.Join(u.Accept, ", "))
		}
	}
	return ""
}
