package cli

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// retryPolicy is what the definition says about the retries of a try, as far as it says so without
// expressions: the timeline tells attempts that were made, not those that are allowed.
type retryPolicy struct {
	attempts int // in all; 0: not known, or no limit
	delay    time.Duration
	backoff  string // exponential, linear or none
	exact    bool   // the delay is known
}

// policyOf finds the policy of the try at a reference in a definition.
func policyOf(definition json.RawMessage, reference string) (p retryPolicy, ok bool) {
	var document any
	if json.Unmarshal(definition, &document) != nil {
		return p, false
	}
	retry := within(document, strings.Split(strings.TrimPrefix(reference, "/"), "/")...)
	retry = within(retry, "catch", "retry")
	if name, isName := retry.(string); isName {
		retry = within(document, "use", "retries", name)
	}
	if _, isObject := retry.(map[string]any); !isObject {
		return p, false
	}
	if count, isNumber := within(retry, "limit", "attempt", "count").(float64); isNumber {
		p.attempts = int(count) + 1 // the first attempt is no retry
	}
	p.delay, p.exact = staticDuration(within(retry, "delay"))
	if within(retry, "jitter") != nil {
		p.exact = false
	}
	for _, kind := range []string{"exponential", "linear"} {
		if within(retry, "backoff", kind) != nil {
			p.backoff = kind
		}
	}
	return p, true
}

// within follows names and indexes into parsed JSON; nil if there is nothing.
func within(value any, path ...string) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[jsonpointer.Unescape(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

var units = map[string]time.Duration{
	"days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second, "milliseconds": time.Millisecond,
}

// staticDuration reads a duration that is no expression: an object, or PT5S and the like.
func staticDuration(value any) (time.Duration, bool) {
	switch v := value.(type) {
	case nil:
		return 0, true
	case map[string]any:
		var sum time.Duration
		for name, amount := range v {
			number, isNumber := amount.(float64)
			if units[name] == 0 || !isNumber {
				return 0, false
			}
			sum += time.Duration(number * float64(units[name]))
		}
		return sum, true
	case string:
		if rest, ok := strings.CutPrefix(v, "PT"); ok {
			d, err := time.ParseDuration(strings.ToLower(rest))
			return d, err == nil
		}
	}
	return 0, false
}

// maxBackoff is where growing delays stop growing (T20).
const maxBackoff = time.Hour

// next is the delay before the given retry, from 1; false: not known.
func (p retryPolicy) next(retry int) (time.Duration, bool) {
	d := float64(p.delay)
	switch p.backoff {
	case "exponential":
		d *= math.Pow(2, float64(retry-1))
	case "linear":
		d *= float64(retry)
	}
	return time.Duration(min(d, float64(max(p.delay, maxBackoff)))), p.exact
}
