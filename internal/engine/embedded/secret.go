package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// readSecrets reads the secrets of an execution, by engine.ReadSecrets before its first event, else by
// engine.PinnedSecrets. errNotPinned says that the execution has ended meanwhile: its row must be read again. An
// *engine.Unrecoverable says how the execution ends without them.
func (e *Engine) readSecrets(
	ctx context.Context, row *store.Execution, p *plan.Plan,
	read func(*store.Reader, *store.Execution, *plan.Plan, *secret.Sealer) (*engine.Secrets, error),
) (*engine.Secrets, error) {
	if !p.UsesSecrets() {
		return nil, nil
	}
	var secrets *engine.Secrets // not a named result, which would be allocated for every execution
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		secrets, err = read(r, row, p, e.config.Sealer)
		return err
	})
	switch {
	case err == nil:
		return secrets, nil
	case errors.Is(err, store.ErrNotFound):
		return nil, errNotPinned
	}
	return nil, engine.SecretsError("secrets", err)
}

var errNotPinned = errors.New("no secrets are pinned for the execution")
