package pause

import (
	"context"
	"time"
)

// For waits for d. It returns the error of ctx if that ends first.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Retry calls try until it reports true. It waits for first after the first call, and then each time twice as long,
// at most for longest. It returns the error of ctx if that ends while it waits.
func Retry(ctx context.Context, first, longest time.Duration, try func() (done bool)) error {
	for wait := first; !try(); wait = min(2*wait, longest) {
		if err := For(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}
