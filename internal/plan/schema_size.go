package plan

import (
	"strings"

	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxSchemaParts bounds the objects and booleans of a schema, because the time that
	// compiling takes grows with their square.
	maxSchemaParts = 10_000
	// maxAddressBytes bounds the addresses of all parts of a schema together. The validator keeps some of each part, and
	// compares them with those of the others: a long name above many parts takes gigabytes, and minutes.
	maxAddressBytes = 8 << 20
)

// parts counts what may be a subschema.
func parts(v value.Value) int {
	count := 0
	switch v := v.(type) {
	case bool:
		count = 1
	case []any:
		for _, item := range v {
			count += parts(item)
		}
	case map[string]any:
		count = 1
		for _, item := range v {
			count += parts(item)
		}
	}
	return count
}

// addressBytes is what the addresses of the parts of a schema take, whose own one takes base bytes.
func addressBytes(v value.Value, base int) int { return addressesBelow(v, 0, base) }

// addressesBelow is addressBytes of a part. pointer bytes lead to it.
func addressesBelow(v value.Value, pointer, base int) int {
	const compared = 4 // a base is kept as often as a pointer, and compared with all others more often
	switch v := v.(type) {
	case bool:
		return pointer + compared*base
	case []any:
		sum := 0
		for _, item := range v {
			sum += addressesBelow(item, pointer+2, base) // a number of one digit or some
		}
		return sum
	case map[string]any:
		for _, name := range []string{"$id", "id"} {
			switch id, _ := v[name].(string); {
			case strings.Contains(id, ":"):
				base = len(id)
			default:
				base += len(id)
			}
		}
		sum := pointer + compared*base
		for name, item := range v {
			sum += addressesBelow(item, pointer+1+len(name), base)
		}
		return sum
	}
	return 0
}
