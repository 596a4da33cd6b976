package app

import (
	"net/http"
	"slices"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/a2a"
	"github.com/chargehand/chargehand/internal/activity/asyncapi"
	asyncapihttp "github.com/chargehand/chargehand/internal/activity/asyncapi/http"
	asyncapinats "github.com/chargehand/chargehand/internal/activity/asyncapi/nats"
	asyncapiws "github.com/chargehand/chargehand/internal/activity/asyncapi/ws"
	"github.com/chargehand/chargehand/internal/activity/mcp"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/resource"
)

// protocolParts is what the runners of protocols share with the others.
type protocolParts struct {
	policy      *egress.Policy
	transport   *http.Transport // of policy
	credentials *credential.Source
	confiner    *process.Confiner
	files       activity.Files
}

// protocols are the runners of the kinds mcp, a2a and asyncapi.
func (t *term) protocols(p protocolParts) map[string]activity.Runner {
	clients := remote.Config{
		Transport: p.transport, Authenticate: remote.AuthenticateBy(p.credentials), UserAgent: "chargehand/" + Version,
	}
	return map[string]activity.Runner{
		"mcp": mcp.New(mcp.Config{
			Remote: clients, AllowProcesses: slices.Contains(t.cfg.AllowRun, "shell"), Confiner: p.confiner, Files: p.files, Version: Version,
		}),
		"a2a": a2a.New(a2a.Config{Remote: clients}),
		"asyncapi": asyncapi.New(asyncapi.Config{
			Documents:    resource.NewCache(resource.CacheConfig{Fetcher: t.fetcher}),
			Authenticate: clients.Authenticate,
			Protocols: map[string]asyncapi.Protocol{
				"http": asyncapihttp.New(asyncapihttp.Config{Remote: clients}),
				"ws":   asyncapiws.New(asyncapiws.Config{Remote: clients}),
				"nats": asyncapinats.New(asyncapinats.Config{Dial: p.policy.Dial, TLS: p.policy.Transport().TLSClientConfig}),
			},
		}),
	}
}
