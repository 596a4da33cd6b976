package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
)

// MinScheduleMs is the shortest span of `every` and `after`, in milliseconds.
const MinScheduleMs = 100

// Schedule says when a workflow starts by itself (language.md 1.12). Several parts mean their
// union (T63). Zero parts are absent.
type Schedule struct {
	Every dsl.Span // T62
	Cron  *Cron    // T84
	After dsl.Span // from the activation, then from the end of each run
	Read  string   // form of the events in the input: data, envelope or raw (T61); "" if not given
}

// Cron is a compiled expression of five or six fields.
type Cron struct {
	Text     string
	schedule cron.Schedule
}

// NextMs is the first tick after a moment, in milliseconds since 1970, by the clocks of a
// place; 0 if there is none within five years.
func (c *Cron) NextMs(afterMs int64, zone *time.Location) int64 {
	next := c.schedule.Next(time.UnixMilli(afterMs).In(zone))
	if next.IsZero() {
		return 0
	}
	return next.UnixMilli()
}

// schedule compiles `schedule`. There is no data for its expressions.
func (c *compiler) schedule(d *dsl.Schedule) *Schedule {
	if d == nil {
		return nil
	}
	return &Schedule{
		Every: c.scheduleSpan(d.Every), After: c.scheduleSpan(d.After),
		Cron: c.cron(d.Cron), Read: d.Read,
	}
}

func (c *compiler) scheduleSpan(d *dsl.Duration) dsl.Span {
	switch {
	case d == nil:
		return dsl.Span{}
	case !d.Constant():
		c.fail(d.Pointer, CodeSchedule, "A schedule has no data that an expression could use.", "Write the duration itself, for example PT1H.")
		return dsl.Span{}
	case d.Span.Months == 0 && d.Span.Milliseconds < MinScheduleMs:
		c.fail(d.Pointer, CodeSchedule, fmt.Sprintf("A schedule takes at least %d milliseconds.", MinScheduleMs), "")
	}
	return d.Span
}

// cronFields are the fields that expressions have: seconds are optional, and come first.
const cronFields = cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom

func (c *compiler) cron(s dsl.Slot) *Cron {
	text := strings.TrimSpace(s.Text())
	if text == "" {
		return nil
	}
	refuse := func(detail string) *Cron {
		c.fail(s.Pointer, CodeSchedule, detail, "Five fields are minute, hour, day of month, month and day of week; six begin with the second. An example is '0 6 * * MON-FRI'.")
		return nil
	}
	if fields := len(strings.Fields(text)); fields != 5 && fields != 6 || strings.ContainsAny(text, "@=$") {
		return refuse(fmt.Sprintf("%q is no cron expression of five or six fields.", shortened(text)))
	}
	parser, err := cron.TryNewParser(cronFields)
	if err != nil {
		return refuse(err.Error())
	}
	schedule, err := parser.Parse(text)
	if err != nil {
		return refuse(fmt.Sprintf("The cron expression cannot be read: %s.", strings.TrimSuffix(err.Error(), ".")))
	}
	if schedule.Next(time.UnixMilli(0).UTC()).IsZero() {
		return refuse(fmt.Sprintf("The cron expression %q never comes true.", shortened(text)))
	}
	return &Cron{Text: text, schedule: schedule}
}

// envelopeRead matches the reading of an event's data in the input of a workflow.
var envelopeRead = regexp.MustCompile(`\$workflow\s*\.\s*input\s*\[[^\]]*\]\s*\.\s*(data|source|subject|type|time|id)\b`)

// checkRead warns of definitions that take the events of their schedule for envelopes without
// saying so (T61).
func (c *compiler) checkRead(d *dsl.Schedule) {
	if d == nil || d.On == nil || d.Read != "" {
		return
	}
	var visit func(v expr.Value) bool
	visit = func(v expr.Value) bool {
		switch v := v.(type) {
		case string:
			return envelopeRead.MatchString(v)
		case []any:
			for _, item := range v {
				if visit(item) {
					return true
				}
			}
		case map[string]any:
			for _, key := range sortedKeys(v) {
				if visit(v[key]) {
					return true
				}
			}
		}
		return false
	}
	if visit(c.doc.Value()) {
		c.warn(d.Pointer+"/on", CodeReadUnclear,
			"The definition reads properties of envelopes from $workflow.input, but without `read` the input holds the data of the events.",
			"Write read: envelope beside `on`, or read: data if the data has such properties.")
	}
}
