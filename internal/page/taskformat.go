package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

var germanMonths = [...]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"}

// Moment is a time in words. A page without script does not know where its reader is, so that it is in UTC.
func Moment(lang string, at time.Time) string {
	at = at.UTC()
	if lang == German {
		return fmt.Sprintf("%d. %s %d, %s Uhr UTC", at.Day(), germanMonths[at.Month()-1], at.Year(), at.Format("15:04"))
	}
	return at.Format("2 January 2006, 15:04 UTC")
}

// Size is a number of bytes in words, with one decimal place where it is small.
func Size(lang string, bytes int64) string {
	if bytes < 1000 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	n, unit := float64(bytes)/1000, 0
	units := [...]string{"kB", "MB", "GB", "TB"}
	for n >= 999.5 && unit < len(units)-1 {
		n, unit = n/1000, unit+1
	}
	decimals := 0
	if n < 9.95 {
		decimals = 1
	}
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	if lang == German {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text + " " + units[unit]
}
