package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

var (
	waitParameter = &parameter{
		name: "wait", in: "query", example: "30s",
		about: "Answer only when the execution or batch is final or needs a person, but at the latest after this time. " +
			"Seconds, or a number with a unit (30s, 500ms, 1m); at most 60 s. Wins over the header Prefer.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.waitGiven = true
			c.args.wait, complaint = parseWait(value, c.server.limits.Wait)
			return complaint
		},
	}
	preferParameter = &parameter{
		name: "Prefer", in: "header", list: true, example: "wait=30",
		about:  "The preference wait=SECONDS is the same as the query parameter wait (RFC 7240). Other preferences are ignored.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			seconds, found := preference(value, "wait")
			if !found {
				return ""
			}
			wait, complaint := time.Duration(0), ""
			if _, err := strconv.ParseUint(seconds, 10, 32); err != nil {
				complaint = "must give the preference wait in whole seconds, such as wait=30."
			} else {
				wait, complaint = parseWait(seconds, c.server.limits.Wait)
			}
			if complaint == "" && !c.args.waitGiven {
				c.args.wait = wait
			}
			return complaint
		},
	}
)

// parseWait reads a duration: seconds, or a number with a unit.
func parseWait(value string, most time.Duration) (wait time.Duration, complaint string) {
	const bad = "must be a time such as 30s."
	if len(value) > 32 {
		return 0, bad
	}
	if isNumber(value) {
		value += "s"
	}
	wait, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, bad
	case wait < 0 || wait > most:
		return 0, fmt.Sprintf("must be from 0s to %ds.", int(most.Seconds()))
	}
	return wait, ""
}

// preference finds one preference in a Prefer header.
func preference(header, name string) (value string, found bool) {
	for part := range strings.SplitSeq(header, ",") {
		part, _, _ = strings.Cut(part, ";")
		k, v, _ := strings.Cut(part, "=")
		if strings.EqualFold(strings.TrimSpace(k), name) {
			return strings.Trim(strings.TrimSpace(v), `"`), true
		}
	}
	return "", false
}
