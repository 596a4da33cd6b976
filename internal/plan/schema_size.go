package plan

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxSchemaParts bounds the objects and booleans of a schema, because the time that
	// compiling takes grows with their square.
	maxSchemaParts = 10_000
	// maxAddressBytes bounds the addresses of all parts of a schema together. The validator keeps some of each part, and
	// compares them with those of the others: a long name above many parts takes gigabytes, and minutes.
	maxAddressBytes = 8 << 20
	// maxPatternSize bounds the instructions of all patterns of a schema together, each of which takes about 90 bytes. A
	// repetition has all of them as often as it may be repeated.
	maxPatternSize = 1_000_000
)

// schemaSize is how large schemas are for the validator.
type schemaSize struct {
	parts     int // objects and booleans
	addresses int // bytes
	patterns  int // instructions
}

// add measures a schema that has an address.
func (s *schemaSize) add(v value.Value, address string) { s.addPart(v, 0, len(address)) }

// addPart measures a part. pointer bytes lead to it from its document, base bytes are the address of what it is in.
func (s *schemaSize) addPart(v value.Value, pointer, base int) {
	const compared = 4 // a base is kept as often as a pointer, and compared with others more often
	switch v := v.(type) {
	case bool:
		s.parts++
		s.addresses += pointer + compared*base
	case []any:
		for _, item := range v {
			s.addPart(item, pointer+2, base) // a number of one digit or some
		}
	case map[string]any:
		for _, name := range []string{"$id", "id"} {
			id, _ := v[name].(string)
			if strings.Contains(id, ":") {
				base = 0
			}
			base += len(id)
		}
		s.parts++
		s.addresses += pointer + compared*base
		if text, ok := v["pattern"].(string); ok {
			s.patterns += patternSize(text)
		}
		if named, ok := v["patternProperties"].(map[string]any); ok {
			for text := range named {
				s.patterns += patternSize(text)
			}
		}
		for name, item := range v {
			s.addPart(item, pointer+1+len(name), base)
		}
	}
}

// excess says what of it is too much, and what to do; empty: nothing is.
func (s *schemaSize) excess() (what, advice string) {
	switch {
	case s.parts > maxSchemaParts:
		return fmt.Sprintf("more than %d objects and booleans", maxSchemaParts), "Check less, or put what repeats into $defs."
	case s.addresses > maxAddressBytes:
		return fmt.Sprintf("parts whose addresses take more than %d MiB together", maxAddressBytes>>20),
			"Make names of properties and $id shorter, or put what is far down into $defs."
	case s.patterns > maxPatternSize:
		return fmt.Sprintf("patterns that make more than %d instructions together, with all their repetitions", maxPatternSize),
			"Let them repeat less, or bound the length of a text with maxLength."
	}
	return "", ""
}

// patternSize is about how many instructions a pattern has; one that is wrong has none.
func patternSize(text string) int {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	return expr.ProgramSize(parsed)
}
