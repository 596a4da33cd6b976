package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// The answer never says that nothing was done, and says where that is not known.
func TestShown(t *testing.T) {
	t.Parallel()
	unknown := fmt.Errorf("start: %w", store.InDoubt(errors.New("SECRET host")))
	if !errors.Is(unknown, store.ErrUnavailable) || !errors.Is(unknown, store.ErrInDoubt) || !strings.Contains(unknown.Error(), "SECRET host") {
		t.Errorf("in doubt: %v", unknown)
	}
	for _, err := range []error{unknown, fmt.Errorf("%w: SECRET disk", store.ErrUnavailable)} {
		shown := store.Shown(err)
		if shown.Code != chargehand.CodeUnavailable || shown.RetryAfter < 1 || !strings.Contains(shown.Detail, "same Idempotency-Key") ||
			strings.Contains(shown.Detail, "SECRET") || strings.Contains(strings.ToLower(shown.Detail), "nothing") {
			t.Errorf("%v is shown as %+v", err, shown)
		}
		if said := strings.Contains(shown.Detail, "not known"); said != errors.Is(err, store.ErrInDoubt) {
			t.Errorf("%v is shown as %q", err, shown.Detail)
		}
	}
}
