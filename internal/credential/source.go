package credential

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/chargehand/chargehand/internal/lru"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Config wires a Source. Transport is required.
type Config struct {
	// Transport carries token requests and discovery; it applies the egress rules.
	Transport nethttp.RoundTripper
	Log       *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // nil: time.Now
}

// Source resolves policies. It holds the tokens of all of them, so that a process needs one.
type Source struct {
	cfg        Config
	client     *nethttp.Client // follows no redirect: token requests hold secrets
	tokens     *lru.Cache[string, *tokenEntry]
	providers  *lru.Cache[string, discovered]
	challenges *lru.Cache[string, *challenge]
}

const (
	maxTokens     = 1024
	maxProviders  = 256
	maxChallenges = 1024
)

// New makes a Source and fills in the defaults of cfg.
func New(cfg Config) *Source {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Source{
		cfg: cfg,
		client: &nethttp.Client{
			Transport:     bounded{cfg.Transport},
			CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
		},
		tokens:     lru.New[string, *tokenEntry](lru.Bounds{Entries: maxTokens}, nil),
		providers:  lru.New[string, discovered](lru.Bounds{Entries: maxProviders}, nil),
		challenges: lru.New[string, *challenge](lru.Bounds{Entries: maxChallenges}, nil),
	}
}

// Resolve makes the credentials of a policy; nil gives empty ones, which change nothing. For
// oauth2 and oidc it has a token when it returns, from the cache or fetched. The fault is an
// authentication error 401 where the server refuses or does not answer (T81), and a
// configuration error 400 where the policy makes no sense.
func (s *Source) Resolve(ctx context.Context, policy value.Value) (*Credentials, *machine.Fault) {
	if policy == nil {
		return &Credentials{source: s}, nil
	}
	object, ok := policy.(map[string]any)
	if !ok {
		return nil, configuration("authentication must be an object")
	}
	switch object["scheme"] {
	case "basic":
		user, password := text(object, "username"), text(object, "password")
		if strings.Contains(user, ":") {
			return nil, refused("a user name for basic authentication cannot contain a colon")
		}
		return s.static("Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	case "bearer":
		return s.static("Bearer " + text(object, "token"))
	case "digest":
		return &Credentials{source: s, digest: newPassword(text(object, "username"), text(object, "password"))}, nil
	case "oauth2", "oidc":
		return s.resolveToken(ctx, object)
	}
	return nil, configuration(fmt.Sprintf("authentication scheme %v is not supported", object["scheme"]))
}

func (s *Source) static(authorization string) (*Credentials, *machine.Fault) {
	if !httpguts.ValidHeaderFieldValue(authorization) {
		return nil, refused("the credentials contain characters that a header cannot hold")
	}
	return &Credentials{source: s, static: authorization}, nil
}

func text(object map[string]any, name string) string {
	value, _ := object[name].(string)
	return value
}

func refused(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrAuthentication, Status: 401, Title: "Could not authenticate", Detail: detail}
}

func configuration(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Authentication cannot be used", Detail: detail}
}
