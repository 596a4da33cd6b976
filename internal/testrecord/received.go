package testrecord

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// received makes mocks of what came to tasks, and steps of the events.
func (w *writer) received() (mocks ordered, steps []any, err error) {
	outcomes := slices.Clone(w.recording.Outcomes)
	slices.SortStableFunc(outcomes, func(a, b client.RecordedOutcome) int { return cmp.Compare(a.AskedMS, b.AskedMS) })
	entries := map[string][]ordered{}
	var order []string
	add := func(reference string, e ordered) {
		if _, known := entries[reference]; !known {
			order = append(order, reference)
		}
		entries[reference] = append(entries[reference], e)
	}
	streams := map[int64]bool{}
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Kind == "event":
			continue
		case streams[o.Seq]: // its messages were written together
		case o.Kind == "message":
			streams[o.Seq] = true
			messages, err := w.messages(outcomes, o.Seq)
			if err != nil {
				return nil, nil, err
			}
			add(o.Reference, ordered{{"messages", messages}})
		default:
			e, err := w.entry(o)
			if err != nil {
				return nil, nil, err
			}
			add(o.Reference, e)
		}
	}
	for _, reference := range order {
		mocks = append(mocks, property{w.address(reference), mock(entries[reference])})
	}
	steps, err = w.events()
	return mocks, steps, err
}

func (w *writer) address(reference string) string {
	if address := w.addresses[reference]; address != "" {
		return address
	}
	return reference
}

func (w *writer) messages(outcomes []client.RecordedOutcome, seq int64) ([]any, error) {
	messages := []any{}
	for i := range outcomes {
		if o := &outcomes[i]; o.Seq == seq && o.Kind == "message" {
			v, err := w.read(o.Output)
			if err != nil {
				return nil, err
			}
			messages = append(messages, v)
		}
	}
	return messages, nil
}

// entry is the answer that an outcome becomes.
func (w *writer) entry(o *client.RecordedOutcome) (ordered, error) {
	if o.Kind == "none" {
		return ordered{{"hangs", true}}, nil
	}
	var e ordered
	if after := o.AtMS - o.AskedMS; after > 0 {
		e = append(e, property{"after", testrun.ISO(after)})
	}
	if o.Error != nil {
		return append(e, property{"raises", w.fault(o.Error)}), nil
	}
	output, err := w.read(o.Output)
	if err != nil {
		return nil, err
	}
	if files := w.files(o.Files); len(files) > 0 && o.Kind != "answer" {
		e = append(e, property{"files", files})
	}
	if o.Kind == "answer" && w.options.Answers {
		return append(e, property{"answers", w.answer(output, o.Files)}), nil
	}
	return append(e, property{"returns", output}), nil
}

func (w *writer) fault(f *client.ExecutionError) ordered {
	fault := ordered{{"type", f.Type}, {"status", f.Status}}
	if f.Title != "" {
		fault = append(fault, property{"title", w.text(f.Title)})
	}
	if f.Detail != "" {
		fault = append(fault, property{"detail", w.text(f.Detail)})
	}
	return fault
}

func (w *writer) answer(output value.Value, files []client.RecordedFile) ordered {
	a := human.AnswerOf(output)
	answer := ordered{{"outcome", a.Outcome}}
	if a.By.ID != "" {
		answer = append(answer, property{"by", a.By.ID})
	}
	if a.Data != nil {
		answer = append(answer, property{"data", a.Data})
	}
	if a.Comment != "" {
		answer = append(answer, property{"comment", a.Comment})
	}
	if list := w.files(files); len(list) > 0 {
		answer = append(answer, property{"files", list})
	}
	return answer
}

func (w *writer) files(files []client.RecordedFile) []any {
	var list []any
	for _, f := range files {
		one := ordered{{"name", w.text(f.Filename)}}
		if path := w.options.Files[f.ID]; path != "" {
			one = append(one, property{"from", path})
		} else {
			one = append(one, property{"text", ""})
		}
		list = append(list, append(one, property{"media_type", f.ContentType}))
	}
	return list
}

// mock is one answer, or a list in which answers that are the same and follow each other are one.
func mock(entries []ordered) any {
	if len(entries) == 1 {
		return entries[0]
	}
	var list []any
	var last string
	times := 0
	for _, e := range entries {
		var b bytes.Buffer
		flow(&b, e)
		if text := b.String(); text == last {
			times++
			list[len(list)-1] = append(slices.Clip(e), property{"times", times})
		} else {
			list, last, times = append(list, e), text, 1
		}
	}
	return list
}

// events are the steps that publish what was taken in, each event once. What the execution has published itself, it
// publishes in the test, too.
func (w *writer) events() (steps []any, err error) {
	outcomes := slices.Clone(w.recording.Outcomes)
	slices.SortStableFunc(outcomes, func(a, b client.RecordedOutcome) int { return cmp.Compare(a.AtMS, b.AtMS) })
	seen := map[string]bool{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Kind != "event" {
			continue
		}
		v, err := readValue(o.Output)
		if err != nil {
			return nil, err
		}
		key := eventKey(v)
		if seen[key] || w.options.own[key] {
			continue
		}
		seen[key] = true
		envelope, _ := w.shown(v).(map[string]any)
		steps = append(steps, ordered{{"at", testrun.ISO(o.AtMS)}, {"event", envelope}})
	}
	return steps, nil
}
