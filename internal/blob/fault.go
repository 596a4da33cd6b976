package blob

import (
	"context"
	"fmt"
)

// fault makes an error of the bucket one of the sentinel errors, or that of ctx.
func (s *Store) fault(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %v", ctx.Err(), err)
	}
	return s.backend.Fault(err)
}

// Unavailable is ErrUnavailable with its cause as text.
func Unavailable(err error) error { return fmt.Errorf("%w: %v", ErrUnavailable, err) }

// Refused is ErrUnavailable and ErrRefused with their cause as text.
func Refused(err error) error { return fmt.Errorf("%w: %w: %v", ErrUnavailable, ErrRefused, err) }
