package dsl

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Span is a constant length of time. Months are kept apart, because their length depends on
// the date they are added to (T52: calendar arithmetic in UTC). Neither part is negative, and
// neither is above 1,000 years.
type Span struct {
	Months       int64
	Milliseconds int64
}

// Duration is a duration in a definition: constant (Span), or by expression, which must yield
// ISO 8601 text for ParseDuration.
type Duration struct {
	Pointer    string
	Expression Operand // present: the duration is the result of this ${ } text
	Span       Span
}

// Constant reports whether the duration is known without evaluating anything.
func (d *Duration) Constant() bool { return !d.Expression.Present() }

const (
	millisecondsPerDay = 24 * 60 * 60 * 1000
	maxMonths          = 1000 * 12
	maxMilliseconds    = 1000 * 365 * millisecondsPerDay
)

// ErrDuration is wrapped by the errors of ParseDuration.
var ErrDuration = errors.New("not an ISO 8601 duration")

var (
	errDurationForm = fmt.Errorf("%w such as PT30S, PT1H30M or P2D", ErrDuration)
	errDurationLong = fmt.Errorf("%w of at most 1,000 years", ErrDuration)
)

// isoUnits are the designators in their order. A month has no fixed number of milliseconds.
var isoUnits = [...]struct {
	designator   byte
	isTime       bool
	months       int64
	milliseconds int64
}{
	{'Y', false, 12, 0},
	{'M', false, 1, 0},
	{'W', false, 0, 7 * millisecondsPerDay},
	{'D', false, 0, millisecondsPerDay},
	{'H', true, 0, 60 * 60 * 1000},
	{'M', true, 0, 60 * 1000},
	{'S', true, 0, 1000},
}

// ParseDuration reads an ISO 8601 duration: P, then years, months, weeks and days, then T,
// hours, minutes and seconds, each with optional decimals (at most nine count). A fraction of
// a year counts as months; what is left of a month counts as part of 30 days. The result is
// rounded to milliseconds. Errors wrap ErrDuration.
func ParseDuration(text string) (Span, error) {
	rest, ok := strings.CutPrefix(text, "P")
	if !ok || rest == "" {
		return Span{}, errDurationForm
	}
	var span Span
	inTime := false
	unit := 0
	for rest != "" {
		if rest[0] == 'T' && !inTime {
			inTime = true
			rest = rest[1:]
			if rest == "" {
				return Span{}, errDurationForm
			}
			continue
		}
		whole, fraction, length := decimal(rest)
		if length == 0 || length == len(rest) {
			return Span{}, errDurationForm
		}
		for unit < len(isoUnits) && (isoUnits[unit].designator != rest[length] || isoUnits[unit].isTime != inTime) {
			unit++
		}
		if unit == len(isoUnits) {
			return Span{}, errDurationForm
		}
		if !span.add(whole, fraction, isoUnits[unit].months, isoUnits[unit].milliseconds) {
			return Span{}, errDurationLong
		}
		rest = rest[length+1:]
		unit++
	}
	return span, nil
}

// nano is the scale of decimal fractions.
const nano = 1_000_000_000

// decimal reads digits with an optional fraction, which it returns in billionths. Length is
// the number of bytes read, 0 if there is no number. Too large numbers become math.MaxInt64.
func decimal(text string) (whole, fraction int64, length int) {
	length = digits(text)
	if length == 0 {
		return 0, 0, 0
	}
	whole, err := strconv.ParseInt(text[:length], 10, 64)
	if err != nil {
		whole = math.MaxInt64
	}
	if length == len(text) || text[length] != '.' {
		return whole, 0, length
	}
	decimals := digits(text[length+1:])
	if decimals == 0 {
		return 0, 0, 0
	}
	scale := int64(nano)
	for _, digit := range text[length+1 : length+1+min(decimals, 9)] {
		scale /= 10
		fraction += int64(digit-'0') * scale
	}
	return whole, fraction, length + 1 + decimals
}

// add adds whole and a fraction (in billionths) of a unit. It reports false beyond the limits.
func (s *Span) add(whole, fraction, unitMonths, unitMilliseconds int64) bool {
	if unitMonths > 0 {
		if whole > maxMonths {
			return false
		}
		scaled := fraction * unitMonths
		s.Months += whole*unitMonths + scaled/nano
		fraction = scaled % nano
		whole, unitMilliseconds = 0, 30*millisecondsPerDay
	}
	if whole > maxMilliseconds/unitMilliseconds {
		return false
	}
	s.Milliseconds += whole*unitMilliseconds + (fraction*unitMilliseconds+nano/2)/nano
	return s.Months <= maxMonths && s.Milliseconds <= maxMilliseconds
}

// durationUnits are the properties of a duration object, in milliseconds.
var durationUnits = [...]struct {
	name         string
	milliseconds int64
}{
	{"days", millisecondsPerDay},
	{"hours", 60 * 60 * 1000},
	{"minutes", 60 * 1000},
	{"seconds", 1000},
	{"milliseconds", 1},
}

var durationObject = object{
	hints: map[string]string{
		"weeks":  "Write days, or an ISO 8601 text such as P2W.",
		"months": "Write an ISO 8601 text such as P1M.",
		"years":  "Write an ISO 8601 text such as P1Y.",
		"ms":     `Did you mean "milliseconds"?`,
	},
}

// duration reads an object, an ISO 8601 text or an expression.
func (d *decoder) duration(at location) *Duration {
	result := &Duration{Pointer: at.pointer}
	switch at.shape {
	case shapeObject:
		d.durationObject(at, &result.Span)
	case shapeText:
		text := at.value.(string)
		span, err := ParseDuration(text)
		switch {
		case err == nil:
			result.Span = span
		case d.isExpression(text) && strings.TrimSpace(text) != "":
			result.Expression = d.operand(at)
		default:
			d.invalid(at, fmt.Sprintf("is %s, which is %s.", quote(text), err),
				"Write for example PT30S, {seconds: 30} or '${ .delay }'.")
		}
	default:
		hint := ""
		if at.shape == shapeNumber {
			hint = "Name the unit: {seconds: " + at.raw + "}."
		}
		d.wrongType(at, "a duration (an object or a text)", hint)
	}
	return result
}

func (d *decoder) durationObject(at location, span *Span) {
	if at.isEmpty() {
		d.invalid(at, "must have at least one of days, hours, minutes, seconds and milliseconds.", "")
	}
	properties := make([]property, len(durationUnits))
	for i, unit := range durationUnits {
		properties[i] = property{unit.name, func(value location) {
			number, ok := d.integer(value, 0, math.MaxInt)
			if ok && !span.add(int64(number), 0, 0, unit.milliseconds) {
				d.invalid(at, "must be at most 1,000 years.", "")
			}
		}}
	}
	d.object(at, &durationObject, properties...)
}
