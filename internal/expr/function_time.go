package expr

import (
	"math"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"

	"github.com/chargehand/chargehand/internal/excerpt"
)

// Time is that of the event being handled and the time zone is UTC, whatever the clock and
// the settings of the machine say (T14).

func fnNow(r *evaluation, _ Value, _ []Value) (Value, error) {
	return r.number(float64(r.env.NowMs()) / 1000), nil
}

const timeRange = "number of seconds is out of range"

func timeOf(seconds float64) (time.Time, bool) {
	whole := math.Floor(seconds)
	if !(math.MinInt64 <= whole && whole < math.MaxInt64) {
		return time.Time{}, false
	}
	t := time.Unix(int64(whole), int64((seconds-whole)*1e9)).UTC()
	return t, whole >= 0 || t.Year() <= 1970
}

func brokenTime(r *evaluation, t time.Time) Value {
	return []any{t.Year(), int(t.Month()) - 1, t.Day(), t.Hour(), t.Minute(),
		r.number(float64(t.Second()) + float64(t.Nanosecond())/1e9), int(t.Weekday()), t.YearDay() - 1}
}

func fnBrokenTime(name string) native {
	return func(r *evaluation, v Value, _ []Value) (Value, error) {
		seconds, ok := toFloat(v)
		if !ok {
			return nil, cannotApply0(name, v)
		}
		t, ok := timeOf(seconds)
		if !ok {
			return nil, because0(name, v, failText(timeRange))
		}
		return brokenTime(r, t), r.list(8)
	}
}

// timeOfBroken is the inverse of brokenTime; entries may be missing at the end.
func timeOfBroken(list []any) (time.Time, error) {
	var parts [8]int
	nanoseconds := 0
	for i := range min(len(list), len(parts)) {
		f, ok := toFloat(list[i])
		if !ok {
			return time.Time{}, failText("expected an array of 8 numbers")
		}
		if !(math.MinInt <= f && f < math.MaxInt) {
			return time.Time{}, failText("number is out of range")
		}
		if i == 5 {
			parts[i] = int(math.Floor(f))
			nanoseconds = int((f - math.Floor(f)) * 1e9)
		} else {
			parts[i], _ = toInt(list[i])
		}
	}
	return time.Date(parts[0], time.Month(parts[1]+1), parts[2], parts[3], parts[4], parts[5], nanoseconds, time.UTC), nil
}

func fnMakeTime(r *evaluation, v Value, _ []Value) (Value, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, cannotApply0("mktime", v)
	}
	t, err := timeOfBroken(list)
	if err != nil {
		return nil, because0("mktime", v, err)
	}
	return r.number(float64(t.Unix()) + float64(t.Nanosecond())/1e9), nil
}

// maxTimeFormat bounds a format in bytes.
const maxTimeFormat = 4096

// maxFormatted bounds what a format becomes, in bytes: the longest directive without a width is
// a date with time and zone, and a width is at most 1,024.
func maxFormatted(format string) int {
	const directive, wide = 64, 1100
	size, inside := len(format), false
	for i := range len(format) {
		switch c := format[i]; {
		case c == '%':
			inside = true
			size += directive
		case inside && '0' <= c && c <= '9':
			size += wide
			inside = false
		case inside && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'):
			inside = false
		}
	}
	return size
}

func checkTimeFormat(format string) error {
	if len(format) > maxTimeFormat {
		return limit("A format of a time has %d bytes; at most %d are allowed.", len(format), maxTimeFormat)
	}
	return nil
}

func fnFormatTime(name string) native {
	return func(r *evaluation, v Value, args []Value) (Value, error) {
		format, ok := args[0].(string)
		if !ok {
			return nil, cannotApply1(name, v, args[0])
		}
		var t time.Time
		if seconds, ok := toFloat(v); ok {
			if t, ok = timeOf(seconds); !ok {
				return nil, because1(name, v, args[0], failText(timeRange))
			}
		} else if list, ok := v.([]any); ok {
			var err error
			if t, err = timeOfBroken(list); err != nil {
				return nil, because1(name, v, args[0], err)
			}
		} else {
			return nil, cannotApply1(name, v, args[0])
		}
		if err := checkTimeFormat(format); err != nil {
			return nil, err
		}
		most := maxFormatted(format)
		if most > r.bytes { // it is not made before it is known to fit
			return nil, r.alloc(most)
		}
		text := validText(timefmt.Format(t, format))
		if err := r.alloc(len(text)); err != nil {
			return nil, err
		}
		return text, r.work(5 + len(format)/4)
	}
}

func fnParseTime(r *evaluation, v Value, args []Value) (Value, error) {
	s, ok := v.(string)
	format, ok2 := args[0].(string)
	if !ok || !ok2 {
		return nil, cannotApply1("strptime", v, args[0])
	}
	if err := checkTimeFormat(format); err != nil {
		return nil, err
	}
	if err := r.work(10 + (len(s)+len(format))/4); err != nil {
		return nil, err
	}
	t, err := timefmt.ParseInLocation(s, format, time.UTC)
	if err != nil {
		return nil, because1("strptime", v, args[0], failText(excerpt.Clip(strings.ToValidUTF8(err.Error(), "\ufffd"), 100)))
	}
	return brokenTime(r, t.UTC()), r.list(8)
}
