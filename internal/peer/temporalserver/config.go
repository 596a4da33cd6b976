package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
)

const (
	clusterName  = "active"
	disabled     = "disabled"
	mainStore    = "main"
	searchStore  = "visibility"
	noLimitRPS   = 1_000_000
	refresh      = 100 * time.Millisecond
	portAttempts = 100
)

// serverConfig is what the server would otherwise read from a file.
func serverConfig(o options, db database) (*config.Config, error) {
	ip, port, err := loopback(o.address)
	if err != nil {
		return nil, err
	}
	services := map[string]config.Service{}
	for _, name := range []primitives.ServiceName{
		primitives.FrontendService, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	} {
		rpc := config.RPC{BindOnIP: ip, GRPCPort: port}
		if name != primitives.FrontendService {
			if rpc.GRPCPort, err = freePort(ip); err != nil {
				return nil, err
			}
		}
		services[string(name)] = config.Service{RPC: rpc}
	}
	cfg := &config.Config{
		Services: services,
		Persistence: config.Persistence{
			DefaultStore:     mainStore,
			VisibilityStore:  searchStore,
			NumHistoryShards: int32(o.shards),
			DataStores: map[string]config.DataStore{
				mainStore:   {SQL: db.main},
				searchStore: {SQL: db.search},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: o.address},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: o.address},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: disabled},
			Visibility: config.VisibilityArchival{State: disabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: disabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: disabled},
		}},
	}
	if o.metrics != "" {
		if _, _, err := loopback(o.metrics); err != nil {
			return nil, err
		}
		cfg.Global.Metrics = &metrics.Config{
			Prometheus: &metrics.PrometheusConfig{ListenAddress: o.metrics, HandlerPath: "/metrics"},
		}
	}
	return cfg, nil
}

// freePort is a free port below those that a system gives to outgoing connections, so that
// none of these takes it before the server listens.
func freePort(ip string) (int, error) {
	var err error
	for range portAttempts {
		port := 15000 + rand.IntN(15000)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port: %w", err)
}

// dynamicSettings are the server's own defaults but for four things: what is new (a
// namespace, a search attribute) is known at once; a namespace may keep what has ended for
// seconds only; timers do not fire a second late, which allows for the clocks of several
// machines; no rate is limited, since one server serves all tests, and the rates of a shard's
// queues are meant for hundreds of shards.
func dynamicSettings(changes []string) (dynamicconfig.StaticClient, error) {
	settings := dynamicconfig.StaticClient{
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key():                            true,
		dynamicconfig.NamespaceCacheRefreshInterval.Key():                                      refresh,
		dynamicconfig.ClusterMetadataRefreshInterval.Key():                                     refresh,
		dynamicconfig.NamespaceMinRetentionLocal.Key():                                         time.Second,
		dynamicconfig.TimerProcessorMaxTimeShift.Key():                                         time.Millisecond,
		dynamicconfig.FrontendRPS.Key():                                                        noLimitRPS,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                                 noLimitRPS,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():                       noLimitRPS,
		dynamicconfig.FrontendNamespaceReplicationInducingAPIsRPS.Key():                        noLimitRPS,
		dynamicconfig.FrontendMaxNamespaceNamespaceReplicationInducingAPIsRPSPerInstance.Key(): noLimitRPS,
		dynamicconfig.FrontendGlobalNamespaceNamespaceReplicationInducingAPIsRPS.Key():         0,
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                                          noLimitRPS,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():                                           noLimitRPS,
		dynamicconfig.TransferProcessorMaxPollRPS.Key():                                        noLimitRPS,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key():                                      noLimitRPS,
		dynamicconfig.HistoryRPS.Key():                                                         noLimitRPS,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                                           noLimitRPS,
		dynamicconfig.MatchingRPS.Key():                                                        noLimitRPS,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                                          noLimitRPS,
	}
	for _, change := range changes {
		key, text, ok := strings.Cut(change, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--set %q: it must be key=value", change)
		}
		settings[dynamicconfig.MakeKey(key)] = setting(text)
	}
	return settings, nil
}

// setting reads a value as the server's own configuration file would: 5 is a whole number,
// anything that is not JSON is text.
func setting(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	if number, ok := value.(float64); ok && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return int(number)
	}
	return value
}
