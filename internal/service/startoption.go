package service

import (
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of labels and delays.
const (
	maxLabels     = 20
	maxLabelName  = 63
	maxLabelValue = 255 // characters
	maxDelay      = 366 * 24 * time.Hour
)

// Label is a label of an execution or a batch.
type Label = store.Label

// startOptions are what single executions and batches may be started with.
type startOptions struct {
	labels  []store.Label
	startMs int64
}

// labels reads the labels of a start, ordered by name; nil if absent.
func (f *fields) labels(name string) []store.Label {
	if _, ok := f.values[name]; !ok {
		return nil
	}
	if !f.has(name) {
		return nil
	}
	given := f.object(name)
	if len(given) > maxLabels {
		f.fail(name, "too_many", "There may be at most "+strconv.Itoa(maxLabels)+" labels, not "+strconv.Itoa(len(given))+".")
		return nil
	}
	var list []store.Label
	for key, v := range given {
		text, ok := v.(string)
		complaint := LabelComplaint(key, text)
		switch {
		case !ok:
			f.failAt([]string{name, key}, "wrong_type", "The value of a label must be a string, not "+value.KindOf(v)+".")
		case complaint != "":
			f.failAt([]string{name, key}, "bad_label", complaint)
		}
		list = append(list, store.Label{Name: key, Value: text})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	sort.Slice(f.wrong, func(i, j int) bool { return f.wrong[i].Pointer < f.wrong[j].Pointer })
	return list
}

// LabelComplaint says what is wrong with a label; empty: nothing.
func LabelComplaint(key, text string) string {
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._/-", r)
	}
	switch {
	case key == "" || len(key) > maxLabelName || strings.ContainsFunc(key, bad):
		return "The name of a label has 1 to " + strconv.Itoa(maxLabelName) + " of the characters a–z, 0–9, dot, underscore, slash and hyphen; " +
			excerpt.Quote(key) + " is not one."
	case len([]rune(text)) > maxLabelValue:
		return "The value of a label has at most " + strconv.Itoa(maxLabelValue) + " characters."
	case strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsRune(text, unicode.ReplacementChar):
		return "The value of a label has no control characters."
	}
	return ""
}

// startMs reads delay and delay_until: the time before which nothing starts, in milliseconds; 0: it starts at once.
func (f *fields) startMs(now time.Time) int64 {
	if f.has("delay") && f.has("delay_until") {
		f.fail("delay_until", "excluded", "Give either \"delay\" or \"delay_until\", not both.")
		return 0
	}
	until := f.instant("delay_until")
	if text := f.text("delay", maxLabelValue); text != "" || f.values["delay"] == "" {
		span, err := dsl.ParseDuration(text)
		if err != nil {
			f.fail("delay", "bad_duration", "The field \"delay\" must be an ISO 8601 duration such as PT30M or P2D.")
			return 0
		}
		// Months and years may be longer than can be added up: they are looked at first.
		if span.Months > 12 || span.Milliseconds > maxDelay.Milliseconds() {
			until = now.Add(maxDelay + time.Hour)
		} else {
			until = now.AddDate(0, int(span.Months), 0).Add(time.Duration(span.Milliseconds) * time.Millisecond)
		}
	}
	name := "delay_until"
	if f.has("delay") {
		name = "delay"
	}
	switch {
	case until.Sub(now) > maxDelay:
		f.fail(name, "too_large", "An execution can be delayed by at most 366 days.")
	case until.After(now):
		return until.UnixMilli()
	}
	return 0
}
