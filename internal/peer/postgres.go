package peer

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresOptions say how a server is started. The zero value is a server whose commits
// are as durable as in production and that ends with its test.
type PostgresOptions struct {
	// Careless turns fsync off, for tests that do not look at what a crash of the machine leaves.
	Careless bool
	// Keep leaves the end to the caller (Stop), who shares one server between the tests of a
	// package: TestMain stops it.
	Keep bool
	// Settings are lines for postgresql.conf.
	Settings []string
}

// Postgres is a server with a cluster of its own. Methods that fail end the test that
// started it.
type Postgres struct {
	process *Process
	tb      testing.TB
	folder  string
	port    int
	names   atomic.Int64
}

const postgresUser = "chargehand"

// StartPostgres makes a cluster in a temporary folder, in memory if it is Careless, and starts a server on it.
func StartPostgres(tb testing.TB, options ...PostgresOptions) *Postgres {
	tb.Helper()
	var o PostgresOptions
	if len(options) > 0 {
		o = options[0]
	}
	bin := postgresBin(tb)
	folder, err := clusterFolder(o.Careless)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Postgres{tb: tb, folder: folder, port: FreePort(tb)}
	if !o.Keep {
		tb.Cleanup(p.Stop)
	}
	as := p.credential()
	data := filepath.Join(folder, "data")
	if err := makeCluster(bin, data, as); err != nil {
		os.RemoveAll(folder)
		tb.Fatal(err)
	}
	lines := append([]string{
		"listen_addresses = '127.0.0.1'", fmt.Sprint("port = ", p.port), fmt.Sprintf("unix_socket_directories = '%s'", folder),
		"shared_buffers = 32MB", "max_connections = 200", "max_wal_size = 256MB", fmt.Sprintf("fsync = %t", !o.Careless),
		fmt.Sprintf("full_page_writes = %t", !o.Careless), "autovacuum_naptime = 5s", "log_min_messages = warning",
	}, o.Settings...)
	if err := appendFile(filepath.Join(data, "postgresql.conf"), strings.Join(lines, "\n")+"\n"); err != nil {
		tb.Fatal(err)
	}
	p.process = &Process{TB: tb, Ready: p.answers, Command: func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data)
		cmd.Dir, cmd.SysProcAttr = folder, &syscall.SysProcAttr{Credential: as}
		return cmd
	}}
	p.process.Start()
	return p
}

// postgresBin finds the programs of the newest installed version.
func postgresBin(tb testing.TB) string {
	tb.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) > 0 {
		newest, version := "", 0
		for _, path := range found {
			if v, _ := strconv.Atoi(strings.Split(path, "/")[4]); v >= version {
				newest, version = filepath.Dir(path), v
			}
		}
		return newest
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		Skip(tb, "PostgreSQL is not installed (apt-get install postgresql)")
	}
	return filepath.Dir(path)
}

// credential is whom the server runs as: PostgreSQL refuses to run as root.
func (p *Postgres) credential() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(p.folder, uid, gid); err != nil {
			p.tb.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	Skip(p.tb, "PostgreSQL does not run as root, and there is no user postgres or nobody")
	return nil
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Address is where the server listens.
func (p *Postgres) Address() string { return fmt.Sprint("127.0.0.1:", p.port) }

// URL is the address of a database of the server.
func (p *Postgres) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(postgresUser), Host: p.Address(), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

func (p *Postgres) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// Exec runs statements in a database, as an administrator does.
func (p *Postgres) Exec(tb testing.TB, database, text string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, p.URL(database))
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.PgConn().Exec(ctx, text).ReadAll(); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
}

// NewDatabase makes an empty database, which goes with the test, and returns its URL.
func (p *Postgres) NewDatabase(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprint("d", p.names.Add(1))
	p.Exec(tb, "postgres", "CREATE DATABASE "+name+" TEMPLATE template0")
	tb.Cleanup(func() {
		if p.answers() == nil {
			p.Exec(tb, "postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		}
	})
	return p.URL(name)
}

// NewSchema makes an empty schema in a database that all callers share, and returns a URL
// that leads there. It costs a hundredth of a database.
func (p *Postgres) NewSchema(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprint("s", p.names.Add(1))
	p.Exec(tb, "postgres", "CREATE SCHEMA "+name)
	return p.URL("postgres") + "&search_path=" + name
}

// processes are the server's; its children have process groups of their own.
func (p *Postgres) processes() []int {
	if p.process.cmd == nil {
		return nil
	}
	parent := p.process.cmd.Process.Pid
	all := []int{parent}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			all = append(all, pid)
		}
	}
	return all
}

// Kill ends all processes of the server at once, as a power cut does.
func (p *Postgres) Kill() {
	if p.process == nil || p.process.cmd == nil {
		return
	}
	_ = syscall.Kill(p.process.cmd.Process.Pid, syscall.SIGSTOP) // it starts no more
	all := p.processes()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	p.process.Signal(syscall.SIGKILL)
	for _, pid := range all[1:] {
		for alive(pid) {
			time.Sleep(time.Millisecond) // its parent is gone: there is no signal to wait for
		}
	}
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// Start starts the server again after Kill or Halt, on the same port.
func (p *Postgres) Start() { p.process.Start() }

// Halt shuts the server down as an administrator does: sessions are ended, data is safe.
func (p *Postgres) Halt() {
	if p.process != nil {
		p.process.Signal(syscall.SIGINT)
	}
}

// Restart shuts the server down and starts it again.
func (p *Postgres) Restart() {
	p.Halt()
	p.Start()
}

// Pause stops all processes of the server, or lets them continue.
func (p *Postgres) Pause(paused bool) {
	sig := syscall.SIGCONT
	if paused {
		sig = syscall.SIGSTOP
	}
	for _, pid := range p.processes() {
		_ = syscall.Kill(pid, sig)
	}
}

// Stop ends the server and removes its folder.
func (p *Postgres) Stop() {
	if p == nil {
		return
	}
	if p.process != nil {
		p.Pause(false)
		p.process.Signal(syscall.SIGQUIT) // it ends its children itself, and waits for them
	}
	os.RemoveAll(p.folder)
}

// Log is what the server has said so far.
func (p *Postgres) Log() string { return p.process.Text() }
