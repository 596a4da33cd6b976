package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// options are the flags.
type options struct {
	address    string
	database   string
	namespaces list
	retention  time.Duration
	settings   list
	shards     int
	metrics    string
	logLevel   string
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func parse() options {
	var o options
	flag.StringVar(&o.address, "address", "127.0.0.1:7233", "loopback `host:port` where clients connect")
	flag.StringVar(&o.database, "database", "", "file:`path`, or postgres://user@host:port/name; made when missing (also name_visibility)")
	flag.Var(&o.namespaces, "namespace", "`name` of a namespace, made when missing; may be repeated")
	flag.DurationVar(&o.retention, "retention", 24*time.Hour, "how long a namespace made here keeps what has ended (at least 1s)")
	flag.Var(&o.settings, "set", "dynamic configuration as `key=value`, value in JSON or plain text; may be repeated")
	flag.IntVar(&o.shards, "shards", 4, "history shards; fixed when the database is made")
	flag.StringVar(&o.metrics, "metrics", "", "loopback `host:port` for Prometheus; empty: no metrics")
	flag.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error, to stderr")
	flag.Parse()
	return o
}

func main() {
	if err := run(parse()); err != nil {
		fmt.Fprintln(os.Stderr, "temporal-server:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	settings, err := dynamicSettings(o.settings)
	if err != nil {
		return err
	}
	if _, _, err := loopback(o.address); err != nil {
		return err
	}
	database, err := openDatabase(o.database)
	if err != nil {
		return err
	}
	cfg, err := serverConfig(o, database)
	if err != nil {
		return err
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: o.logLevel}))
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts(cfg)),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(settings),
	)
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer server.Stop()
	if err := makeNamespaces(ctx, o.address, o.namespaces, o.retention); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// hosts tells each service where the others are: all of them here. Without it they would
// have to find each other by gossip, which takes seconds after a crash.
func hosts(cfg *config.Config) map[primitives.ServiceName]static.Hosts {
	all := map[primitives.ServiceName]static.Hosts{}
	for name, service := range cfg.Services {
		address := net.JoinHostPort(service.RPC.BindOnIP, strconv.Itoa(service.RPC.GRPCPort))
		all[primitives.ServiceName(name)] = static.SingleLocalHost(address)
	}
	return all
}

// loopback checks an address that this server shall listen on.
func loopback(address string) (ip string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("address %q: %w", address, err)
	}
	parsed := net.ParseIP(host)
	if parsed == nil || !parsed.IsLoopback() {
		return "", 0, fmt.Errorf("address %q: only an IP address of this machine's loopback is allowed", address)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("address %q: the port must be from 1 to 65535", address)
	}
	return host, port, nil
}

// openDatabase finds out which of the two kinds is meant, and prepares it.
func openDatabase(text string) (database, error) {
	if path, ok := strings.CutPrefix(text, "file:"); ok && path != "" {
		return openSQLite(path)
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		return openPostgres(u)
	}
	return database{}, errors.New("--database must be file:path or postgres://user@host:port/name")
}
