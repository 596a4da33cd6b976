package testrun

import (
	"strconv"
	"strings"
	"time"
)

// article puts the article before what a task is.
func article(text string) string {
	if text != "" && (strings.ContainsRune("aeiou", rune(text[0])) || text == "http" || text == "mcp") {
		return "an " + text
	}
	return "a " + text
}

// listed lists alternatives: `a, b or c`.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// counted is a number with its word: 1 message, 2 messages.
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// Span writes a length of virtual time for people: 2d 3h, 90s is 1m 30s, 0s.
func Span(ms int64) string {
	if ms < 0 {
		return "-" + Span(-ms)
	}
	var parts []string
	for _, unit := range []struct {
		name string
		ms   int64
	}{{"d", 24 * time.Hour.Milliseconds()}, {"h", time.Hour.Milliseconds()}, {"m", time.Minute.Milliseconds()}, {"s", 1000}, {"ms", 1}} {
		if n := ms / unit.ms; n > 0 {
			parts = append(parts, number(n)+unit.name)
			ms %= unit.ms
		}
	}
	if len(parts) == 0 {
		return "0s"
	}
	return strings.Join(parts, " ")
}

// ISO writes a length of virtual time as an ISO 8601 duration: P2DT3H, PT1M30S, PT0.5S, PT0S.
func ISO(ms int64) string {
	var out strings.Builder
	out.WriteByte('P')
	day := 24 * time.Hour.Milliseconds()
	if n := ms / day; n > 0 {
		out.WriteString(number(n) + "D")
		ms %= day
		if ms == 0 {
			return out.String()
		}
	}
	out.WriteByte('T')
	if n := ms / 3_600_000; n > 0 {
		out.WriteString(number(n) + "H")
	}
	if n := ms / 60_000 % 60; n > 0 {
		out.WriteString(number(n) + "M")
	}
	if rest := ms % 60_000; rest > 0 || strings.HasSuffix(out.String(), "T") {
		out.WriteString(number(rest / 1000))
		if fraction := rest % 1000; fraction > 0 {
			out.WriteString("." + strings.TrimRight(number(1000 + fraction)[1:], "0"))
		}
		out.WriteByte('S')
	}
	return out.String()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
