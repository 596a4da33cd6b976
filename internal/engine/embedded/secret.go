package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// currentSecrets reads the secrets of an execution before its first event. The transaction that
// journals this event pins them. An *unrecoverableError says how the execution ends without them.
func (e *Engine) currentSecrets(row *store.Execution, p *plan.Plan) (*engine.Secrets, error) {
	if !p.UsesSecrets() {
		return nil, nil
	}
	if e.config.Sealer == nil {
		return nil, sealedError("secrets", errNoSealer)
	}
	var secrets *engine.Secrets // not a named result, which would be allocated for every execution
	err := e.store.View(e.ctx, func(r *store.Reader) (err error) {
		secrets, err = engine.ReadSecrets(r, row, p, e.config.Sealer)
		return err
	})
	return secretsOrFault(secrets, err)
}

// pinnedSecrets reads the secrets of an execution that has begun. errNotPinned says that the
// execution has ended meanwhile: its row must be read again.
func (e *Engine) pinnedSecrets(ctx context.Context, row *store.Execution, p *plan.Plan) (*engine.Secrets, error) {
	if !p.UsesSecrets() {
		return nil, nil
	}
	if e.config.Sealer == nil {
		return nil, sealedError("secrets", errNoSealer)
	}
	var secrets *engine.Secrets
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		secrets, err = engine.PinnedSecrets(r, row, p, e.config.Sealer)
		return err
	})
	return secretsOrFault(secrets, err)
}

var (
	errNoSealer  = errors.New("this server has no key for secrets")
	errNotPinned = errors.New("no secrets are pinned for the execution")
)

// secretsOrFault turns an error of reading secrets into one that ends the execution, or into one
// after which they are read again.
func secretsOrFault(secrets *engine.Secrets, err error) (*engine.Secrets, error) {
	switch {
	case err == nil:
		return secrets, nil
	case errors.Is(err, engine.ErrSecretsTooLarge):
		return nil, &unrecoverableError{engine.SecretsFault()}
	case errors.Is(err, secret.ErrSealed), errors.Is(err, engine.ErrCorrupt):
		return nil, sealedError("secrets", err)
	case errors.Is(err, store.ErrNotFound):
		return nil, errNotPinned
	}
	return nil, fmt.Errorf("read secrets: %w", err)
}

// sealedError ends an execution whose data cannot be opened, because it is damaged or was sealed
// with another master key.
func sealedError(what string, err error) *unrecoverableError {
	return unrecoverable(engine.CodeInternal, fmt.Sprintf(
		"The %s of the execution cannot be opened: %v. Either the data is damaged, or it was sealed with another "+
			"master key; set the secrets again, and start the execution again.", what, err))
}
