package remote

import (
	"context"
	"net/http"

	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
)

// AuthenticateByHeader is an Authenticate for the schemes that need nobody else: basic and
// bearer.
func AuthenticateByHeader(_ context.Context, policy expr.Value) (Credentials, *machine.Fault) {
	authorization, fault := activityhttp.AuthorizationOf(policy)
	if fault != nil {
		return nil, fault
	}
	return headerCredentials(authorization), nil
}

// headerCredentials is the value of an Authorization header; "": none.
type headerCredentials string

// Authorization implements Credentials.
func (h headerCredentials) Authorization() string { return string(h) }

// Transport implements Credentials.
func (h headerCredentials) Transport(base http.RoundTripper) http.RoundTripper {
	if h == "" {
		return base
	}
	return &headed{next: base, header: http.Header{"Authorization": {string(h)}}}
}
