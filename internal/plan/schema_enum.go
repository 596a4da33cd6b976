package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/chargehand/chargehand/internal/value"
)

// maxComparedEnum is the length of an enum up to which the validator compares a value with each of its own, one after
// the other, which takes a few microseconds each.
const maxComparedEnum = 64

// enum looks values up in a long enum.
type enum struct {
	values  []any
	known   map[string]bool // by identity
	longest int             // identity
}

// indexEnum takes a long enum out of a schema and puts one in its place that looks values up. What else is wrong with a
// value is reported as well then; the validator stops at its own enum.
func indexEnum(s *jsonschema.Schema) {
	if s.Enum == nil || len(s.Enum.Values) <= maxComparedEnum {
		return
	}
	e := &enum{s.Enum.Values, make(map[string]bool, len(s.Enum.Values)), 0}
	for _, v := range e.values {
		id, _ := appendIdentity(nil, v, math.MaxInt)
		e.known[string(id)], e.longest = true, max(e.longest, len(id))
	}
	s.Enum = nil
	s.Extensions = slices.Insert(s.Extensions, 0, jsonschema.SchemaExt(e)) // before the budget, which counts its error
}

// Validate implements jsonschema.SchemaExt.
func (e *enum) Validate(ctx *jsonschema.ValidatorContext, v any) {
	if id, ok := appendIdentity(nil, v, e.longest); !ok || !e.known[string(id)] {
		ctx.AddError(&kind.Enum{Got: v, Want: e.values})
	}
}

// appendIdentity appends a text that only values have which are equal in JSON Schema, as 1 and 1.0 are. It reports
// false as soon as the text has more than most bytes.
func appendIdentity(dst []byte, v any, most int) (id []byte, ok bool) {
	if len(dst) > most {
		return dst, false
	}
	switch v := v.(type) {
	case string:
		if len(v) > most {
			return dst, false
		}
		dst = value.AppendString(dst, v)
	case int:
		dst = strconv.AppendInt(dst, int64(v), 10)
	case json.Number: // a large integer
		dst = append(dst, v...)
	case float64:
		number, _ := new(big.Rat).SetString(fmt.Sprint(v)) // what it is written as, as the validator does
		dst = append(dst, number.RatString()...)
	case []any:
		dst = append(dst, '[')
		for _, item := range v {
			if dst, ok = appendIdentity(dst, item, most); !ok {
				return dst, false
			}
			dst = append(dst, ',')
		}
		dst = append(dst, ']')
	case map[string]any:
		if len(v) > most {
			return dst, false
		}
		dst = append(dst, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			dst = append(value.AppendString(dst, name), ':')
			if dst, ok = appendIdentity(dst, v[name], most); !ok {
				return dst, false
			}
			dst = append(dst, ',')
		}
		dst = append(dst, '}')
	default: // null, true, false
		dst = value.Append(dst, v)
	}
	return dst, len(dst) <= most
}
