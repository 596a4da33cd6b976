package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// MinScheduleMs is the shortest span of `every` and `after`, in milliseconds.
const MinScheduleMs = 100

// Schedule says when a workflow starts by itself (docs/language/schedules.md). Several parts mean their
// union (T63). Zero parts are absent.
type Schedule struct {
	Every dsl.Span // T62
	Cron  *Cron    // T84
	After dsl.Span // from the activation, then from the end of each run
	Read  string   // form of the events in the input: data, envelope or raw (T61); "" if not given

	// FirstNow: the first run comes with the activation, not one span or tick later. It is true
	// for `after` unless metadata.schedule.firstRun says otherwise (MetadataFirstRun).
	FirstNow bool

	on *Plan // listens to `on`; nil if there is none
}

// Listener is a plan of one task, which listens to `on` until it has the events of one run: they
// are its output, in the form that `read` asks for, else as unread says. It is nil without
// `on`. Its executions are no executions of the workflow.
func (s *Schedule) Listener(unread string) *Plan {
	if s.on == nil || s.Read != "" {
		return s.on
	}
	task := *s.on.Tasks[0]
	listen := *task.Listen
	listen.Read, task.Listen = unread, &listen
	p := *s.on
	p.Tasks = []*Task{&task}
	p.Body = &List{Tasks: p.Tasks}
	return &p
}

// MetadataFirstRun is the name in document.metadata.schedule that says when the first run of
// `every`, `cron` and `after` comes: "immediately" or "next".
const MetadataFirstRun = "firstRun"

// listenerBytes bounds what is kept of the events of one run of a schedule.
const listenerBytes = 4 << 20

// Cron is a compiled expression of five or six fields.
type Cron struct {
	Text      string
	schedule  cron.Schedule
	everyHour bool // the hours are *
}

// NextMs is the first tick after a moment, in milliseconds since 1970, by the clocks of a time
// zone; 0 if there is none within five years. Of an hour that comes twice, because the clocks are put back, only the
// first one counts, unless the expression is for every hour. A time that is left out comes as
// much later as the clocks are put forward.
func (c *Cron) NextMs(afterMs int64, zone *time.Location) int64 {
	for next := time.UnixMilli(afterMs).In(zone); ; {
		if next = c.schedule.Next(next); next.IsZero() {
			return 0
		}
		if c.everyHour || !repeated(next) {
			return next.UnixMilli()
		}
	}
}

// repeated reports whether the clocks have shown the same time before.
func repeated(t time.Time) bool {
	const longest = 3 * time.Hour // that clocks are put back by
	_, before := t.Add(-longest).Zone()
	_, now := t.Zone()
	if before <= now {
		return false
	}
	_, then := t.Add(time.Duration(now-before) * time.Second).Zone()
	return then == before
}

// schedule compiles `schedule`. There is no data for its expressions.
func (c *compiler) schedule(d *dsl.Schedule) *Schedule {
	if d == nil {
		return nil
	}
	s := &Schedule{
		Every: c.scheduleSpan(d.Every), After: c.scheduleSpan(d.After),
		Cron: c.cron(d.Cron), Read: d.Read, FirstNow: d.After != nil,
	}
	if d.On != nil {
		s.on = c.listener(d)
	}
	c.firstRun(s)
	return s
}

// firstRun reads document.metadata.schedule.firstRun.
func (c *compiler) firstRun(s *Schedule) {
	settings, _ := c.doc.Metadata["schedule"].(map[string]any)
	switch given, ok := settings[MetadataFirstRun]; {
	case !ok:
	case given == "immediately":
		s.FirstNow = true
	case given == "next":
		s.FirstNow = false
	default:
		c.warn("/document/metadata/schedule/"+MetadataFirstRun, CodeMetadata,
			"`firstRun` is neither immediately nor next; it is ignored.", "Write firstRun: immediately.")
	}
}

// listener compiles `on` as a listen task of a plan of its own: a schedule matches events as a
// task does.
func (c *compiler) listener(d *dsl.Schedule) *Plan {
	pointer := d.Pointer + "/on"
	task := &Task{Name: "on", Reference: pointer, Kind: dsl.KindListen}
	task.Definition, _ = c.valueAt(pointer).(map[string]any)
	read := d.Read
	if read == "" {
		read = dsl.ReadData
	}
	c.listen(task, &dsl.Listen{To: d.On, Read: read}, location{base: pointer}.with(inWorkflowInput))
	if unasked(d.On) || d.On.UntilEvents != nil && unasked(d.On.UntilEvents) {
		c.fail(pointer, CodeSchedule, "`all: []` is satisfied by no event at all; the workflow would start without end.",
			"`any: []` starts a run for every event.")
	}
	limits := c.options.Limits
	limits.StateBytes = min(limits.StateBytes, listenerBytes)
	document := *c.doc
	document.Use.Secrets = nil // the runs get them, not who waits for events
	return &Plan{Tasks: []*Task{task}, Body: &List{Tasks: []*Task{task}}, Limits: limits, document: &document}
}

// unasked reports whether a strategy is satisfied without an event.
func unasked(s *dsl.Strategy) bool { return s.Mode == dsl.StrategyAll && len(s.Filters) == 0 }

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

func (c *compiler) cron(s dsl.Operand) *Cron {
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
	fields := strings.Fields(text)
	return &Cron{Text: text, schedule: schedule, everyHour: fields[len(fields)-4] == "*"}
}

// envelopeRead matches the reading of an event's data in the input of a workflow.
var envelopeRead = regexp.MustCompile(`\$workflow\s*\.\s*input\s*\[[^\]]*\]\s*\.\s*(data|source|subject|type|time|id)\b`)

// checkRead warns of definitions that take the events of their schedule for envelopes without
// saying so (T61).
func (c *compiler) checkRead(d *dsl.Schedule) {
	if d == nil || d.On == nil || d.Read != "" {
		return
	}
	var visit func(v value.Value) bool
	visit = func(v value.Value) bool {
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
