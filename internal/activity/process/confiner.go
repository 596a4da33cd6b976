package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Config configures a Confiner. Zero fields stand for defaults.
type Config struct {
	Logger *slog.Logger // default slog.Default()
	// Scratch is the folder of the private directories. New makes it, and removes what an
	// earlier server left in it: no two servers may share one.
	Scratch string
	// ReadPaths may be read and executed by every command, beside the system folders and the
	// folders of PATH.
	ReadPaths []string
	// HiddenPaths are never readable, even below a readable folder: the data directory, files
	// with keys. They may be links, and need not exist yet. In a folder that holds one of them,
	// commands see what was there when New was called, and cannot list it. Absolute.
	HiddenPaths []string
	// Path is the PATH of commands; default that of the server.
	Path   string
	Limits Limits
	Slots  int // commands at one time; default 8
	// Commands says that authors may run commands: New then gives them cgroups, for which this
	// process moves into another one, and tells the log what this machine cannot confine.
	Commands bool
}

// Confiner runs commands. It is safe for concurrent use.
type Confiner struct {
	log       *slog.Logger
	scratch   string
	path      string
	readPaths []string
	hidden    []string
	limits    Limits
	slots     chan struct{}
	landlock  int         // ABI version, 0: none
	cgroups   *cgroupTree // nil: none was delegated

	threadsMu sync.Mutex
	threadsAt time.Time
	threads   int
}

// Command is one command to run.
type Command struct {
	Path      string   // absolute
	Args      []string // without argv[0]
	Env       []string // NAME=value; nothing is added
	Dir       string   // absolute: working directory and the only place to write
	Stdin     []byte
	ReadPaths []string // readable and executable for this command, beside Config.ReadPaths
	// Input, where it is set, is standard input instead of Stdin: the read end of a pipe, for a
	// command that is talked to. The caller closes it when Run has returned.
	Input *os.File
	// Output, where it is set, takes standard output as it comes, instead of Outcome.Stdout. What
	// it takes counts against Limits.OutputBytes. A Write that blocks holds the command up, and
	// Run too: it must fail once its reader is gone.
	Output io.Writer
	// StdoutCopy and StderrCopy, where they are set, take the same as Outcome.Stdout and Outcome.Stderr, as it comes. They
	// must not block, and their errors do not count.
	StdoutCopy, StderrCopy io.Writer
	Limits                 Limits // zero fields: those of Config
}

// Outcome is the result of a command that has ended.
type Outcome struct {
	Code     int    // exit code; 128 + number of the signal that ended it
	Signal   string // name of that signal, for example "SIGSEGV"; "" without
	Stdout   []byte
	Stderr   []byte
	CPU      time.Duration // of the command and its children that were waited for
	MaxBytes int64         // resident memory of its largest process
}

// ErrSupervisor is matched by the error of Run when the supervisor died before its command:
// the operator's business, and worth trying again.
var ErrSupervisor = errors.New("the supervisor of the process died")

// New makes the scratch folder, empties it, and finds out what the kernel can confine.
func New(cfg Config) (*Confiner, error) {
	mustNotBeHelper()
	if cfg.Scratch == "" {
		return nil, errors.New("process: no scratch folder")
	}
	scratch, err := filepath.Abs(cfg.Scratch)
	if err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	// Landlock sees real paths; so must the rules.
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	c := &Confiner{
		log:      cfg.Logger,
		scratch:  scratch,
		path:     cmp.Or(cfg.Path, cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")),
		limits:   cfg.Limits.or(defaultLimits),
		slots:    make(chan struct{}, cmp.Or(cfg.Slots, DefaultSlots)),
		landlock: landlockVersion(),
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	c.hidden = hiddenPaths(append([]string{scratch}, cfg.HiddenPaths...))
	if os.Geteuid() == 0 {
		c.hidden = append(c.hidden, realPaths(secretPaths())...)
	}
	c.readPaths = c.ReadRules(append(systemPaths(c.path), cfg.ReadPaths...))
	if cfg.Commands {
		c.prepareCommands()
	}
	return c, c.sweep()
}

// prepareCommands takes what was delegated, and tells the operator once what this machine cannot
// confine.
func (c *Confiner) prepareCommands() {
	support := Capabilities()
	var tree *cgroupTree
	if tree, support.Cgroup = findCgroup(); support.Cgroup == nil {
		support.Cgroup = tree.prepare()
	}
	if support.Cgroup == nil {
		c.cgroups = tree
	}
	for _, fact := range support.Facts() {
		if !fact.OK {
			c.log.Warn(fact.Detail, "remedy", fact.Remedy)
		}
	}
}

// Landlock is the ABI version of the kernel's Landlock; 0: the kernel has none.
func (c *Confiner) Landlock() int { return c.landlock }

// Logger gets messages for the operator that authors do not see.
func (c *Confiner) Logger() *slog.Logger { return c.log }

// Path is the PATH that commands are given.
func (c *Confiner) Path() string { return c.path }

// sweep removes what an earlier server left.
func (c *Confiner) sweep() error {
	entries, err := os.ReadDir(c.scratch)
	if err != nil {
		return fmt.Errorf("scratch folder: %w", err)
	}
	for _, entry := range entries {
		// A supervisor of a server that was killed may still be at work for some milliseconds;
		// what it leaves goes at the next start.
		if err := removeAll(filepath.Join(c.scratch, entry.Name())); err != nil {
			c.log.Warn("leftover of an earlier process stays", "error", err)
		}
	}
	return nil
}

// Acquire takes one of the slots and returns what gives it back. It waits until there is one
// or ctx is done.
func (c *Confiner) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case c.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-c.slots }), nil
	default:
	}
	select {
	case c.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-c.slots }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// NewDir makes a private directory. The caller removes it with RemoveDir.
func (c *Confiner) NewDir() (string, error) {
	dir, err := os.MkdirTemp(c.scratch, "p")
	if err != nil {
		return "", fmt.Errorf("private directory: %w", err)
	}
	return dir, nil
}

// RemoveDir removes a private directory and all in it, whatever modes the command gave it.
func (c *Confiner) RemoveDir(dir string) {
	if err := removeAll(dir); err != nil {
		c.log.Warn("private directory stays until the next start", "error", err)
	}
}

// removeAll is os.RemoveAll for trees in which a command took modes away.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, os.ErrPermission) {
		return err
	}
	// WalkDir shows a directory before it lists it, so the mode is mended in time.
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
