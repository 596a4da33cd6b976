package api

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// maxPage is the largest page of every list, and the default.
const maxPage = 100

var (
	limitParameter = &parameter{
		name: "limit", in: "query", about: "Maximum number of items to return: a whole number from 1 to 100.",
		schema: huma.Schema{Type: "number", Default: maxPage, Minimum: number(1), Maximum: number(maxPage), MultipleOf: number(1)},
		read: func(c *call, value string) (complaint string) {
			c.args.limit, complaint = parseLimit(value)
			return complaint
		},
	}
	workflowCursorParameter = &parameter{
		name: "cursor", in: "query", about: "The cursor of the previous page: the created_at of its last workflow.",
		schema: huma.Schema{Type: "string", Format: "date-time"}, example: "2026-01-31T09:30:00.125Z",
		read: func(c *call, value string) (complaint string) {
			c.args.before, complaint = parseTime(value)
			return complaint
		},
	}
	cursorParameter = &parameter{
		name: "cursor", in: "query", about: "The cursor of the previous page.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.after, complaint = parseCursor(value)
			return complaint
		},
	}
	seqCursorParameter = &parameter{
		name: "cursor", in: "query", about: "The cursor of the previous page.",
		schema: huma.Schema{Type: "string"}, example: "100",
		read: func(c *call, value string) (complaint string) {
			seq, err := strconv.ParseInt(value, 10, 64)
			if err != nil || seq < 0 {
				return badCursor
			}
			c.args.seq = seq
			return ""
		},
	}
)

const (
	badCursor = "must be the cursor of a previous answer, unchanged and URL-encoded."
	badLimit  = "must be a whole number from 1 to 100."
)

// parseLimit reads a JSON number that is whole, in whatever notation.
func parseLimit(value string) (limit int, complaint string) {
	if !isNumber(value) {
		return 0, badLimit
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || f < 1 || f > maxPage || f != float64(int(f)) {
		return 0, badLimit
	}
	return int(f), ""
}

// isNumber keeps out what strconv reads beside decimal numbers: hexadecimal ones,
// underscores, Inf and NaN.
func isNumber(value string) bool {
	return value != "" && len(value) <= 64 && !strings.ContainsFunc(value, func(r rune) bool {
		return !strings.ContainsRune("0123456789.eE+-", r)
	})
}

// parseTime reads an RFC 3339 time, whose letters may be small. A plus sign in the offset
// that was not URL-encoded arrives as a space and is repaired.
func parseTime(value string) (t time.Time, complaint string) {
	repaired := value
	if i := strings.LastIndexByte(value, ' '); i > len("2006-01-02T") {
		repaired = value[:i] + "+" + value[i+1:]
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(repaired))
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, "must be a date-time such as 2026-01-31T09:30:00.125Z (RFC 3339, URL-encoded)."
	}
	if t.IsZero() {
		t = t.Add(1) // the zero time stands for none; nothing is as old as either
	}
	return t.UTC(), ""
}

// cursorBytes is the size of an opaque cursor before its encoding: time and id.
const cursorBytes = 8 + 16

func parseCursor(value string) (c service.Cursor, complaint string) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(value)
	if err != nil || len(b) != cursorBytes {
		return service.Cursor{}, badCursor
	}
	c.Milli = int64(binary.BigEndian.Uint64(b))
	copy(c.ID[:], b[8:])
	if c.IsZero() || c.Milli < 0 {
		return service.Cursor{}, badCursor
	}
	return c, ""
}

// showPage answers with a page that was read, or with why it was not; view shows a row.
func showPage[Row, View any](c *call, page *service.Page[Row], err error, view func(*Row) View) error {
	if err != nil {
		return err
	}
	v := listPage[View]{Data: make([]View, len(page.Data)), Cursor: cursorText(page.Cursor)}
	for i := range page.Data {
		v.Data[i] = view(&page.Data[i])
	}
	return c.view(http.StatusOK, v)
}

// cursorText is the inverse of parseCursor; nil stands for the end of the list.
func cursorText(c service.Cursor) *string {
	if c.IsZero() {
		return nil
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, cursorBytes), uint64(c.Milli))
	text := base64.RawURLEncoding.EncodeToString(append(b, c.ID[:]...))
	return &text
}

func number(f float64) *float64 { return &f }
