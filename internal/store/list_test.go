package store

import (
	"errors"
	"testing"

	"github.com/chargehand/chargehand"
)

// FuzzParseCursor: whatever is accepted is the one text of its cursor.
func FuzzParseCursor(f *testing.F) {
	f.Add("")
	f.Add(Cursor{ID: chargehand.ExecutionID{1}, Item: 300}.String())
	f.Add(Cursor{ID: chargehand.ExecutionID{15: 255}}.String())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err != nil {
			if !errors.Is(err, ErrBadCursor) {
				t.Errorf("%q: %v, want ErrBadCursor", text, err)
			}
			return
		}
		if c.String() != text || c.ID.IsZero() || c.Item < 0 {
			t.Errorf("%q reads as %+v, which is written %q", text, c, c)
		}
	})
}
