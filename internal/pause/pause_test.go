package pause

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestForWaitsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := For(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("it has waited %v, %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun = time.Now()
		if err := For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Minute {
			t.Errorf("it has waited %v beyond its context, %v", time.Since(begun), err)
		}
	})
}

func TestRetryWaitsLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var at []time.Duration
		err := Retry(t.Context(), time.Second, 3*time.Second, func() bool {
			at = append(at, time.Since(begun))
			return len(at) == 5
		})
		want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}
		if err != nil || !slices.Equal(at, want) {
			t.Errorf("the attempts were at %v, %v; want %v", at, err, want)
		}
	})
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		calls := 0
		err := Retry(ctx, time.Minute, time.Minute, func() bool { calls++; return false })
		if !errors.Is(err, context.DeadlineExceeded) || calls != 2 {
			t.Errorf("after %d calls: %v", calls, err)
		}
	})
}
