package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// ErrInDoubt comes beside ErrUnavailable: a commit was cut off, and whether it was made is not known. ErrUnavailable
// alone says that nothing of this Update was written, and that nothing of it will be; earlier ones of the same request
// may have been.
var ErrInDoubt = errors.New("whether it was written is not known")

// InDoubt is ErrUnavailable and ErrInDoubt with their cause as text.
func InDoubt(cause error) error { return fmt.Errorf("%w: %w: %v", ErrUnavailable, ErrInDoubt, cause) }

// What callers see of ErrUnavailable. Neither says that nothing was changed: a request may write more than once, and
// may fail when it reads what it has written.
const (
	detailUnavailable = "The storage cannot be used at the moment. Repeat the request later, with the same Idempotency-Key if it has one."
	detailInDoubt     = "The storage failed while the request was written, and whether it was carried out is not known." +
		" Repeat it with the same Idempotency-Key; if it has none, look first whether it was carried out."
)

// Shown is what the caller of a request sees of an ErrUnavailable.
func Shown(err error) *chargehand.Error {
	e := &chargehand.Error{Code: chargehand.CodeUnavailable, Detail: detailUnavailable, RetryAfter: 1}
	if errors.Is(err, ErrInDoubt) {
		e.Detail = detailInDoubt
	}
	return e
}
