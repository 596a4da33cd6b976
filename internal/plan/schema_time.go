package plan

import (
	"regexp"
	"strings"
	"time"
)

// fullTime is full-time of RFC 3339, 5.6: hours, minutes, seconds, a fraction, and the distance to UTC.
var fullTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]+)?(?:[zZ]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$`)

func isTime(text string) bool {
	parts := fullTime.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	if parts[3] != "60" {
		return true
	}
	// A leap second is the last of a day in UTC.
	const day = 24 * 60
	minute, offset := minutes(parts[1], parts[2]), 0
	switch parts[4] {
	case "+":
		offset = -minutes(parts[5], parts[6])
	case "-":
		offset = minutes(parts[5], parts[6])
	}
	return (minute+offset+day)%day == day-1
}

// minutes are two numbers of two digits as minutes.
func minutes(hour, minute string) int {
	return 60*(10*int(hour[0]-'0')+int(hour[1]-'0')) + 10*int(minute[0]-'0') + int(minute[1]-'0')
}

func isDateTime(text string) bool {
	const date = len(time.DateOnly)
	if len(text) <= date || text[date] != 'T' && text[date] != 't' {
		return false
	}
	_, err := time.Parse(time.DateOnly, text[:date])
	return err == nil && isTime(text[date+1:])
}

// duration is the grammar of RFC 3339, appendix A: units follow each other without a gap.
var duration = regexp.MustCompile(`^P(?:[0-9]+W|` + durationDate + `(?:` + durationTime + `)?|` + durationTime + `)$`)

const (
	durationDate = `(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)`
	durationTime = `T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)`
)

// isPeriod judges by RFC 3339, appendix A: two times, or one of them and a duration.
func isPeriod(text string) bool {
	start, end, _ := strings.Cut(text, "/")
	return isDateTime(start) && (isDateTime(end) || duration.MatchString(end)) || duration.MatchString(start) && isDateTime(end)
}
