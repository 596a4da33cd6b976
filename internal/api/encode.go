package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// encode is the JSON text of a value of one of the types in view*.go, without HTML escapes.
func encode(v any) ([]byte, error) {
	if text := encodeKnown(v); text != nil {
		return text, nil
	}
	return encodeAny(v)
}

// encodeAny is encode by reflection.
func encodeAny(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// cursorJSON is the value of a field that holds a cursor: null at the end of a list.
func cursorJSON(cursor *string) string {
	if cursor == nil {
		return "null"
	}
	return quoteJSON(*cursor)
}

// quoteJSON is text as a JSON string. What is not valid UTF-8 becomes U+FFFD.
func quoteJSON(text string) string {
	quoted, err := encodeAny(text)
	if err != nil {
		panic(err) // every string can be encoded
	}
	return string(quoted)
}

// appendTime appends ms since 1970 as a quoted RFC 3339 time in UTC with three fraction digits.
func appendTime(dst []byte, ms int64) []byte {
	const layout = `"2006-01-02T15:04:05.000Z"`
	return time.UnixMilli(ms).UTC().AppendFormat(dst, layout)
}
