package draft

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/value"
)

// leaf reads a field that is one text.
func (r *reader) leaf(f *form.Field, required bool, text, pointer string) (value.Value, found) {
	if strings.TrimSpace(text) == "" && f.Kind != form.Text && f.Kind != form.LongText {
		if f.Kind == form.Boolean && required {
			return false, given
		}
		return nil, nothing
	}
	if text == "" {
		return nil, nothing
	}
	var v value.Value = text
	var code Code
	switch f.Kind {
	case form.Boolean:
		return text == "true" || text == "on", given // "on" is what a checkbox sends
	case form.Integer, form.Number:
		v, code = numberOf(text, f.Kind == form.Integer)
	case form.Date:
		text = strings.TrimSpace(text)
		if v = text; !isDate(text) {
			code = NoDate
		}
	case form.Time:
		v, code = r.timeOf(strings.TrimSpace(text))
	case form.DateTime:
		v, code = r.momentOf(strings.TrimSpace(text))
	case form.Email, form.URI:
		v = strings.TrimSpace(text)
	case form.JSON:
		return r.json(text, pointer)
	}
	if code != "" {
		return nil, r.complain(pointer, code)
	}
	return v, given
}

func (r *reader) json(text, pointer string) (value.Value, found) {
	v, err := value.Parse([]byte(text), value.Limits{})
	if err == nil {
		return v, given
	}
	wrong := Wrong{Pointer: pointer, Code: NoJSON}
	if syntax := (*value.SyntaxError)(nil); errors.As(err, &syntax) {
		wrong.Detail = syntax.Error()
	}
	r.wrong = append(r.wrong, wrong)
	return nil, broken
}

// indented is a value as JSON that people can read.
func indented(v value.Value) string {
	var out bytes.Buffer
	if err := json.Indent(&out, value.Marshal(v), "", "  "); err != nil {
		panic(err) // Marshal has written it
	}
	return out.String()
}

// What people write as a number, and what may be either thousands or a decimal part.
var (
	numberShape    = regexp.MustCompile(`^[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?$`)
	ambiguousShape = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2},[0-9]{3}$`)
)

// numberOf reads a number with a decimal point or comma.
func numberOf(text string, whole bool) (value.Value, Code) {
	text = strings.TrimSpace(text)
	switch {
	case !numberShape.MatchString(text):
		return nil, NoNumber
	case ambiguousShape.MatchString(text):
		return nil, Ambiguous
	}
	sign := ""
	if text[0] == '+' || text[0] == '-' {
		sign, text = strings.TrimPrefix(text[:1], "+"), text[1:]
	}
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i:]
	}
	integer, fraction, _ := strings.Cut(strings.Replace(mantissa, ",", ".", 1), ".")
	if integer = strings.TrimLeft(integer, "0"); integer == "" {
		integer = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	v, err := value.Parse([]byte(sign+integer+fraction+exponent), value.Limits{})
	if err != nil {
		return nil, NoNumber
	}
	if float, ok := v.(float64); ok && whole {
		if float != math.Trunc(float) {
			return nil, NoInteger
		}
		if math.Abs(float) < 1<<53 { // exact
			v = int(float)
		}
	}
	return v, ""
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// clock are the notations of a time of day without an offset.
var clock = []string{"15:04", "15:04:05", "15:04:05.999999999"}

// timeOf adds the local offset to a time of day, as JSON Schema wants it.
func (p Local) timeOf(text string) (value.Value, Code) {
	if isOffsetTime(text) {
		return text, ""
	}
	for _, layout := range clock {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format("15:04:05.999999999") + p.offset(), ""
		}
	}
	return nil, NoTime
}

func isOffsetTime(text string) bool {
	_, err := time.Parse("15:04:05.999999999Z07:00", strings.ToUpper(text))
	return err == nil
}

// offset is that of the zone, now.
func (p Local) offset() string { return p.Now.In(p.zone()).Format("Z07:00") }

// timeText is a time of day without the offset where that is the local one.
func (p Local) timeText(text string) string {
	bare, ours := strings.CutSuffix(text, p.offset())
	if !ours || !isOffsetTime(text) {
		return text
	}
	return strings.TrimSuffix(bare, ":00")
}

// moments are the notations of a date with a time without an offset, once a blank stands for the T.
var moments = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05.999999999"}

// momentOf reads a date with a time. Without an offset it is in local time.
func (p Local) momentOf(text string) (value.Value, Code) {
	text = strings.ToUpper(strings.Replace(text, " ", "T", 1))
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return text, ""
	}
	for _, layout := range moments {
		if at, err := time.ParseInLocation(layout, text, p.zone()); err == nil {
			if at.UTC().Year() < 0 || at.UTC().Year() > 9999 {
				break
			}
			return at.UTC().Format("2006-01-02T15:04:05.999999999Z"), ""
		}
	}
	return nil, NoDateTime
}

// momentText is a date with a time in local time, if it is one.
func (p Local) momentText(text string) string {
	at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	if err != nil {
		return text
	}
	at = at.In(p.zone())
	if at.Year() < 1 || at.Year() > 9999 {
		return text
	}
	for _, layout := range moments[:2] {
		if short, err := time.ParseInLocation(layout, at.Format(layout), p.zone()); err == nil && short.Equal(at) {
			return at.Format(layout)
		}
	}
	long := at.Format(moments[2])
	if again, err := time.ParseInLocation(moments[2], long, p.zone()); err != nil || !again.Equal(at) {
		return text // of the hour that comes twice in autumn
	}
	return long
}
