package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Mode says who else may write.
type Mode uint8

// The modes.
const (
	// Owner is for the embedded engine: all Updates go through the one session that holds
	// the lock of the database, once TryOwn or AwaitOwner has got it.
	Owner Mode = iota
	// Shared is for many processes that write at once.
	Shared
)

// Options say how a database is opened. Zero values mean the defaults given here.
type Options struct {
	// URL is postgres://user:password@host:5432/database. It may have the parameters of
	// libpq (sslmode, sslrootcert, target_session_attrs, several hosts) and search_path.
	URL  string
	Mode Mode
	// Drives says, in Shared mode, that this process drives executions with others of its kind. No
	// owner works beside it.
	Drives bool
	// Writers is the number of connections that commit in Shared mode; default 4.
	Writers int
	// Readers bounds how many Views run at once; default 8.
	Readers int
	// Lease is after how long of silence the server ends the session of an owner, which gives
	// the lock to another one; default 8 s. The owner says something four times as often.
	Lease time.Duration
	// Statement bounds one statement of an Update or View; default 10 s.
	Statement time.Duration
	// Name is that of this process for people, which Standbys tells while it waits (AwaitOwner), as store.StandbyName
	// shortens it.
	Name string
	// Logger; default: discard.
	Logger *slog.Logger
}

func (o *Options) fill() {
	if o.Writers == 0 {
		o.Writers = 4
	}
	if o.Mode == Owner {
		o.Writers = 1
	}
	if o.Readers == 0 {
		o.Readers = 8
	}
	if o.Lease == 0 {
		o.Lease = 8 * time.Second
	}
	if o.Statement == 0 {
		o.Statement = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

const (
	connectTimeout = 3 * time.Second
	// deadPeerMs is how long a silent network is trusted, on both sides.
	deadPeerMs = 5000
	// groupLock bounds the wait for a row that another transaction holds, while a group of
	// Updates waits with it. PostgreSQL looks for deadlocks only after a second.
	groupLock = "300ms"
	aloneLock = "SET LOCAL lock_timeout = '5s'"
)

// parseURL turns the URL into a configuration of the driver. Its errors name the flag and
// never tell the password: the parser's own texts may.
func parseURL(text string) (*pgconn.Config, error) {
	const form = "write postgres://user:password@host:5432/database, with the special characters of the password percent-encoded"
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("--database-url is not a valid URL: " + form)
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("--database-url does not begin with postgres://: " + form)
	}
	if strings.Contains(text, "#") || strings.Contains(u.EscapedPath(), "@") || u.User == nil && strings.Contains(u.RawQuery, "@") {
		// A password that is not encoded was cut in two: the driver would tell its rest as a host or database.
		return nil, errors.New("--database-url has a # or @ where none may be: " + form)
	}
	config, err := pgconn.ParseConfig(text)
	if err != nil {
		reason := errors.Unwrap(err)
		if reason == nil {
			reason = errors.New("a parameter is wrong")
		}
		said := reason.Error()
		if password, ok := u.User.Password(); ok && password != "" {
			said = strings.ReplaceAll(said, password, "xxxxx")
		}
		return nil, fmt.Errorf("--database-url: %s: %s", said, form)
	}
	return config, nil
}

// configure sets what every session starts with.
//
// The texts of package store are written so that each has one good plan, through an index.
// The planner is kept from finding another one with statistics that are empty or old: the
// plan is made once per session and does not depend on the arguments.
func configure(config *pgconn.Config, o *Options) {
	if config.ConnectTimeout == 0 || config.ConnectTimeout > connectTimeout {
		config.ConnectTimeout = connectTimeout
	}
	config.DialFunc = dialer().DialContext
	settings := map[string]string{
		"application_name": "chargehand", "client_encoding": "UTF8", "timezone": "UTC", "DateStyle": "ISO",
		"statement_timeout": ms(o.Statement), "lock_timeout": groupLock, "idle_in_transaction_session_timeout": ms(max(o.Lease, time.Second)),
		"tcp_keepalives_idle": "2", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "3", "tcp_user_timeout": strconv.Itoa(deadPeerMs),
		"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off", "jit": "off",
	}
	for name, value := range settings {
		if name == "application_name" && config.RuntimeParams[name] != "" {
			continue
		}
		config.RuntimeParams[name] = value
	}
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// dialer notices a peer that is gone in about five seconds, whether we wait for it or it
// does not take what we send.
func dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:         connectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3},
		Control:         boundUnanswered,
	}
}

// reading is the configuration for Views, whose fn may look at what it read for a while.
func reading(config *pgconn.Config) *pgconn.Config {
	config = config.Copy()
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "60000"
	config.RuntimeParams["default_transaction_read_only"] = "on"
	return config
}

// connect opens a session that writes.
func (db *DB) connect(ctx context.Context) (*session, error) { return db.connectAs(ctx, db.config) }

func (db *DB) connectAs(ctx context.Context, config *pgconn.Config) (*session, error) {
	s, err := dial(ctx, config, db.options.Statement+2*time.Second, &db.trips)
	if err != nil {
		return nil, connectError(err, db.config.Password)
	}
	return s, nil
}
