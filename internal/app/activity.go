package app

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/a2a"
	"github.com/chargehand/chargehand/internal/activity/asyncapi"
	asyncapihttp "github.com/chargehand/chargehand/internal/activity/asyncapi/http"
	asyncapinats "github.com/chargehand/chargehand/internal/activity/asyncapi/nats"
	asyncapiws "github.com/chargehand/chargehand/internal/activity/asyncapi/ws"
	"github.com/chargehand/chargehand/internal/activity/container"
	activitygrpc "github.com/chargehand/chargehand/internal/activity/grpc"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/activity/mcp"
	"github.com/chargehand/chargehand/internal/activity/openapi"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/activity/shell"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/value"
)

// activities are the runners of what commands do to the world, by kind. stored has the files that they read and write.
func (t *term) activities(ctx context.Context, stored activity.Files) (map[string]activity.Runner, error) {
	policy, err := egress.New(egress.Config{Allow: t.cfg.AllowEgress, ConnectTo: t.cfg.ConnectTo, TrustedCA: t.cfg.TrustedCA})
	if err != nil {
		return nil, installation.BadSetting("%w", err)
	}
	t.policy = policy
	transport := policy.Transport()
	credentials := credential.New(credential.Config{Transport: transport, Log: t.log})
	if t.fetcher, err = t.newFetcher(transport, credentials, 0); err != nil {
		return nil, err
	}
	descriptions, err := t.newFetcher(transport, credentials, openapi.MaxDocumentBytes)
	if err != nil {
		return nil, err
	}
	caller := activityhttp.New(activityhttp.Config{
		Transport: transport, Auth: credentials, Files: stored, PublicURL: t.cfg.PublicURL, UserAgent: "chargehand/" + Version,
	})
	hidden, err := t.cfg.secretPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	confiner, err := process.New(process.Config{
		Logger: t.log, Scratch: filepath.Join(t.cfg.DataDir, installation.ScratchName), HiddenPaths: hidden, Slots: t.cfg.Processes,
		Commands: slices.Contains(t.cfg.AllowRun, "shell") || slices.Contains(t.cfg.AllowRun, "python"),
	})
	if err != nil {
		return nil, err
	}
	containers, err := container.New(container.Config{
		Logger: t.log, Confiner: confiner, Files: stored, Allowed: slices.Contains(t.cfg.AllowRun, "container"),
		Volumes: t.cfg.ContainerVolumes, Capabilities: t.cfg.ContainerCapabilities,
	})
	if err != nil {
		return nil, installation.BadSetting("%w", err)
	}
	resources := resource.NewCache(resource.CacheConfig{Fetcher: t.fetcher})
	calls := activitygrpc.New(activitygrpc.Config{
		Dial: policy.Dial, TLS: policy.Transport().TLSClientConfig, Auth: credentials, UserAgent: "chargehand/" + Version,
		Resources: resources,
	})
	sources := resources
	if t.sources != nil {
		sources = resource.NewCache(resource.CacheConfig{Fetcher: t.sources})
	}
	scripts := script.New(script.Config{
		Confiner: confiner, Files: stored, Resources: sources, Python: slices.Contains(t.cfg.AllowRun, "python"),
		Log: t.log, Limits: script.Limits{Workers: t.cfg.Scripts, Time: t.cfg.ScriptTimeout},
	})
	t.runtime = t.runtimeMetadata(ctx, scripts)
	t.closeScripts = func() {
		scripts.Close()
		calls.Close()
		containers.Close()
	}
	runners := t.protocols(protocolParts{policy, transport, credentials, confiner, stored})
	maps.Copy(runners, map[string]activity.Runner{
		"http":      caller,
		"openapi":   openapi.New(openapi.Config{Caller: caller, Documents: resource.NewCache(resource.CacheConfig{Fetcher: descriptions})}),
		"shell":     shell.New(shell.Config{Confiner: confiner, Files: stored, Allowed: slices.Contains(t.cfg.AllowRun, "shell")}),
		"script":    scripts,
		"grpc":      calls,
		"container": containers,
	})
	return runners, nil
}

// runtimeMetadata is $runtime.metadata (T89): the version of Python, where workflows may run it.
func (t *term) runtimeMetadata(ctx context.Context, scripts *script.Runner) value.Value {
	if !slices.Contains(t.cfg.AllowRun, "python") {
		return nil
	}
	version, err := scripts.PythonVersion(ctx)
	if err != nil {
		t.log.Warn("--allow-run has python, but there is none that works", "error", err)
		return nil
	}
	return map[string]any{"python": version}
}

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
