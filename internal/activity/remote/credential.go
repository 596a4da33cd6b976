package remote

import (
	"context"

	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// AuthenticateBy makes credentials with a source.
func AuthenticateBy(source *credential.Source) Authenticate {
	return func(ctx context.Context, policy value.Value) (Credentials, *machine.Fault) {
		credentials, fault := source.Resolve(ctx, policy)
		if fault != nil {
			return nil, fault
		}
		return credentials, nil
	}
}
