package cli

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// retryPolicy is what the definition says about the retries of a try, as far as it says so without
// expressions: the timeline tells attempts that were made, not those that are allowed.
type retryPolicy struct {
	attempts int // in all; 0: not known, or no limit
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
