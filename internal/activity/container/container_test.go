package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/peer/docker"
	"github.com/chargehand/chargehand/internal/value"
)

func TestMain(m *testing.M) {
	process.MaybeHelper()
	os.Exit(m.Run())
}

type object = map[string]any

// memoryFiles is a store of files in memory.
type memoryFiles struct {
	mu      sync.Mutex
	content map[string]string // by uri
	stored  map[string]string // by name
}

func (m *memoryFiles) Open(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, _ chargehand.ExecutionID, uri string) (machine.File, io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, ok := m.content[uri]
	if !ok {
		return machine.File{}, nil, activity.ErrFileNotFound
	}
	return machine.File{Name: "picture.png", Size: int64(len(content))}, io.NopCloser(strings.NewReader(content)), nil
}

func (m *memoryFiles) Put(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, name, mediaType string, content io.Reader) (machine.File, error) {
	data, err := io.ReadAll(content)
	if err != nil {
		return machine.File{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored[name] = string(data)
	return machine.File{ID: fmt.Sprintf("f%d", len(m.stored)), Name: name, MediaType: mediaType, Size: int64(len(data)), Digest: "sha256:0"}, nil
}

const picture = "/api/v1/files/00000001-0000-7000-8000-000000000000"

type fixture struct {
	*Runner
	files   *memoryFiles
	scratch string
}

func newFixture(t *testing.T, host string, edit func(*Config)) *fixture {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	f := &fixture{files: &memoryFiles{content: map[string]string{picture: "PNG"}, stored: map[string]string{}}, scratch: t.TempDir()}
	confiner, err := process.New(process.Config{Logger: log, Scratch: f.scratch})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Logger: log, Confiner: confiner, Files: f.files, Allowed: true, Host: host}
	if edit != nil {
		edit(&cfg)
	}
	if f.Runner, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func call(args object) activity.Call {
	if args["image"] == nil {
		args["image"] = "box:1"
	}
	return activity.Call{Kind: "container", Args: args, Key: "key-1", Reference: "/do/0/paint"}
}

func (f *fixture) do(t *testing.T, args object) activity.Result {
	t.Helper()
	return f.Run(t.Context(), call(args))
}

func wantOutput(t *testing.T, got activity.Result, want string) {
	t.Helper()
	if got.Fault != nil {
		t.Errorf("fault %s %v", got.Fault.Type, got.Fault)
	} else if text := string(value.Marshal(got.Output)); text != want {
		t.Errorf("output %s, want %s", text, want)
	}
}

func wantFault(t *testing.T, got activity.Result, kind string, words ...string) {
	t.Helper()
	if got.Fault == nil {
		t.Errorf("no fault, output %.200s", value.Marshal(got.Output))
		return
	}
	if got.Fault.Type != kind {
		t.Errorf("fault %s (%s), want %s", got.Fault.Type, got.Fault.Detail, kind)
	}
	for _, word := range words {
		if !strings.Contains(got.Fault.Detail, word) {
			t.Errorf("detail %q lacks %q", got.Fault.Detail, word)
		}
	}
}

func wantLeft(t *testing.T, e *docker.Engine, want ...string) {
	t.Helper()
	if got := e.Left(); !slices.Equal(got, want) {
		t.Errorf("containers %q, want %q", got, want)
	}
}

// shown writes what a process sees; it ends with the code in CODE.
func shown(p *docker.Process) int {
	stdin, _ := io.ReadAll(p.Stdin)
	fmt.Fprintf(p.Stdout, "%q %s %s\n\n", p.Argv, p.Env["GREETING"], stdin)
	fmt.Fprintln(p.Stderr, "a warning")
	var code int
	_, _ = fmt.Sscan(p.Env["CODE"], &code)
	return code
}

func hanging(p *docker.Process) int {
	fmt.Fprint(p.Stdout, "waiting")
	<-p.Stop
	return 143
}

func TestReturnModes(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"show": shown})
	f := newFixture(t, e.Host, nil)
	args := func(mode string, code int) object {
		return object{"command": "show all", "arguments": []any{"a b", 1}, "environment": object{"GREETING": "hi", "CODE": code}, "stdin": "text", "cleanup": "always", "return": mode}
	}
	const out = `"[\"show\" \"all\" \"a b\" \"1\"] hi text"`
	for mode, want := range map[string]string{
		"": out, "stdout": out, "stderr": `"a warning"`, "code": `0`, "none": `null`,
		"all": `{"code":0,"files":[],"stderr":"a warning","stdout":` + out + `}`,
	} {
		wantOutput(t, f.do(t, args(mode, 0)), want)
	}
	wantOutput(t, f.do(t, args("code", 3)), `3`)
	wantOutput(t, f.do(t, args("stderr", 3)), `"a warning"`)
	wantFault(t, f.do(t, args("stdout", 3)), machine.ErrRuntime, "exit code 3", "a warning")
	wantFault(t, f.do(t, args("none", 3)), machine.ErrRuntime, "exit code 3")
	wantFault(t, f.do(t, args("both", 0)), machine.ErrConfiguration, "both")
	wantLeft(t, e)
}

func TestWhatRunsInTheContainer(t *testing.T) {
	for _, c := range []struct {
		args                object
		entrypoint, command string
	}{
		{object{}, "[]", "[]"},
		{object{"arguments": []any{"-v", 2}}, "[]", `["-v" "2"]`},
		{object{"arguments": object{"size": 3, "-v": nil}}, "[]", `["-v" "--size" "3"]`},
		{object{"command": "/app/tool --fast"}, `["/app/tool"]`, `["--fast"]`},
		{object{"command": "python app.py", "arguments": []any{"$(id)"}}, `["python"]`, `["app.py" "$(id)"]`},
		{object{"command": "echo $GREETING", "arguments": []any{"x"}}, `["/bin/sh"]`, `["-c" "echo $GREETING" "sh" "x"]`},
		{object{"command": "A=1 env"}, `["/bin/sh"]`, `["-c" "A=1 env" "sh"]`},
		{object{"command": "cd /tmp\nls"}, `["/bin/sh"]`, `["-c" "cd /tmp\nls" "sh"]`},
		{object{"command": "exit 3"}, `["/bin/sh"]`, `["-c" "exit 3" "sh"]`},
	} {
		e := docker.Start(t, map[string]docker.Program{
			"default": shown, "-v": shown, "--size": shown, "/app/tool": shown, "python": shown, "/bin/sh": shown,
		})
		got := newFixture(t, e.Host, nil).do(t, c.args)
		if got.Fault != nil {
			t.Errorf("%v: %v", c.args, got.Fault)
			continue
		}
		made := e.Last(t).Config
		if entrypoint, command := fmt.Sprintf("%q", made.Entrypoint), fmt.Sprintf("%q", made.Cmd); entrypoint != c.entrypoint || command != c.command {
			t.Errorf("%v: entrypoint %s, command %s; want %s, %s", c.args, entrypoint, command, c.entrypoint, c.command)
		}
	}
}

func TestConfinement(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"default": shown})
	f := newFixture(t, e.Host, func(c *Config) {
		c.Volumes = []string{"/srv/data", "/srv/read:ro"}
		c.Network = "lonely"
		c.Limits.MemoryBytes, c.Limits.Processes = 64<<20, 32
	})
	got := f.do(t, object{
		"ports":   object{"8080": 80, "5353/udp": "53/udp"},
		"volumes": object{"cache": "/var/cache:ro", "/srv/data": "/data", "/srv/read": "/read"},
	})
	if got.Fault != nil {
		t.Fatal(got.Fault)
	}
	c := e.Last(t)
	h := c.Host
	if h.Privileged || !slices.Equal(h.CapDrop, []string{"ALL"}) || len(h.CapAdd) > 0 || !slices.Equal(h.SecurityOpt, []string{"no-new-privileges"}) ||
		h.Memory != 64<<20 || h.MemorySwap != 64<<20 || h.PidsLimit == nil || *h.PidsLimit != 32 || h.NetworkMode != "lonely" ||
		len(h.Binds) > 0 || h.PidMode != "" || h.IpcMode != "" || len(h.Devices) > 0 {
		t.Errorf("host configuration %+v", h)
	}
	for port, want := range map[string]string{"80/tcp": "127.0.0.1:8080", "53/udp": "127.0.0.1:5353"} {
		bound := h.PortBindings[network.MustParsePort(port)]
		if len(bound) != 1 || bound[0].HostIP.String()+":"+bound[0].HostPort != want {
			t.Errorf("port %s is bound to %v, want %s", port, bound, want)
		}
	}
	mounts := map[string]mount.Mount{}
	for _, m := range h.Mounts {
		mounts[m.Target] = m
	}
	if m := mounts["/data"]; m.Type != mount.TypeBind || m.Source != "/srv/data" || m.ReadOnly {
		t.Errorf("mount %+v", m)
	}
	if m := mounts["/read"]; m.Type != mount.TypeBind || !m.ReadOnly {
		t.Errorf("mount %+v of a path that is allowed for reading", m)
	}
	named := mounts["/var/cache"]
	if named.Type != mount.TypeVolume || !named.ReadOnly || !strings.HasSuffix(named.Source, "-cache") || named.Source == "cache" {
		t.Errorf("mount %+v", named)
	}
	other := call(object{})
	other.Environment = chargehand.Test
	if volumeName(other, "cache") == named.Source {
		t.Error("two environments share a volume")
	}
	if c.Modes["/chargehand/out"] != 0o777 || c.Modes["/chargehand/in"] != 0o755 {
		t.Errorf("modes %v", c.Modes)
	}
}

func TestWhatCannotBeAskedFor(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"default": shown})
	f := newFixture(t, e.Host, func(c *Config) { c.Volumes = []string{"/srv/data"} })
	for _, c := range []struct {
		args object
		word string
	}{
		{object{"image": " "}, "image"},
		{object{"pullPolicy": "sometimes"}, "sometimes"},
		{object{"command": nil}, "command is null"},
		{object{"command": 7}, "command is 7"},
		{object{"command": " "}, "command is"},
		{object{"name": nil}, "name is null"},
		{object{"name": []any{"a"}}, "name is"},
		{object{"name": ""}, "name is"},
		{object{"cleanup": "maybe"}, "maybe"},
		{object{"cleanup": "eventually"}, "needs the time"},
		{object{"ports": object{"80": "x"}}, "ports"},
		{object{"ports": object{"0": 80}}, "ports"},
		{object{"ports": object{"10.0.0.1:80": 80}}, "ports"},
		{object{"ports": object{"53/udp": 53}}, "ports"},
		{object{"ports": []any{}}, "ports must be an object"},
		{object{"volumes": object{"/etc": "/x"}}, "not among those"},
		{object{"volumes": object{"/srv/data/sub": "/x"}}, "not among those"},
		{object{"volumes": object{"/srv/data/../../etc": "/x"}}, "not among those"},
		{object{"volumes": object{"../etc": "/x"}}, "neither"},
		{object{"volumes": object{"a/b": "/x"}}, "neither"},
		{object{"volumes": object{"v": "x"}}, "absolute path"},
		{object{"volumes": object{"v": "/"}}, "absolute path"},
		{object{"volumes": object{"v": "/chargehand/out"}}, "outside /chargehand"},
		{object{"volumes": object{"v": "/a/../chargehand"}}, "absolute path"},
		{object{"volumes": object{"v": 1}}, "absolute path"},
	} {
		wantFault(t, f.do(t, c.args), machine.ErrConfiguration, c.word)
	}
	wantFault(t, f.do(t, object{"environment": object{"A=B": 1}}), machine.ErrValidation, "A=B")
	wantFault(t, f.do(t, object{"command": "missing"}), machine.ErrConfiguration, "cannot be started", "executable file not found")
	wantLeft(t, e)
	if _, err := New(Config{Allowed: true, Volumes: []string{"data"}}); err == nil || !strings.Contains(err.Error(), "data") {
		t.Errorf("volume that is no path: %v", err)
	}
}

func TestFilesGoInAndOut(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"paint": func(p *docker.Process) int {
		in, out := p.Env["IN_DIR"], p.Env["OUT_DIR"]
		p.Files[out+"/painted.png"] = p.Files[in+"/picture.png"] + "!"
		p.Files[out+"/deep/note.txt"] = strings.Join(p.Argv, " ")
		p.Files[out+"/link"] = "link:/etc/passwd"
		p.Files[out+"/../escape.txt"] = "no"
		fmt.Fprint(p.Stdout, p.Files[in+"/manifest.json"])
		return 0
	}})
	f := newFixture(t, e.Host, nil)
	got := f.do(t, object{"command": "paint", "arguments": []any{object{"uri": picture}}, "return": "all", "cleanup": "always"})
	if got.Fault != nil {
		t.Fatal(got.Fault)
	}
	want := map[string]string{"painted.png": "PNG!", "deep/note.txt": "paint /chargehand/in/picture.png"}
	if len(got.Files) != len(want) || fmt.Sprint(f.files.stored) != fmt.Sprint(want) {
		t.Errorf("files %v, want %v", f.files.stored, want)
	}
	output := got.Output.(object)
	if len(output["files"].([]any)) != 2 || !strings.Contains(output["stdout"].(string), `"picture.png"`) {
		t.Errorf("output %v", output)
	}
	entries, err := os.ReadDir(f.scratch)
	if err != nil || len(entries) > 0 {
		t.Errorf("private directories stay: %v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(f.scratch, "..", "escape.txt")); err == nil {
		t.Error("a file left its directory")
	}
}

func TestFilesAreBounded(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"default": func(p *docker.Process) int {
		for i := range 4 {
			p.Files[fmt.Sprintf("%s/f%d", p.Env["OUT_DIR"], i)] = strings.Repeat("x", 400)
		}
		return 0
	}})
	wantFault(t, newFixture(t, e.Host, func(c *Config) { c.Limits.FileBytes = 300 }).do(t, object{}), machine.ErrRuntime, "at most 300")
	wantFault(t, newFixture(t, e.Host, func(c *Config) { c.Limits.DiskBytes = 1000 }).do(t, object{}), machine.ErrRuntime, "more than 1000 bytes")
}

func TestCleanup(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"default": shown})
	f := newFixture(t, e.Host, nil)
	f.do(t, object{"cleanup": "always", "name": "a"})
	wantLeft(t, e)
	f.do(t, object{"name": "kept"})
	wantLeft(t, e, "kept exited")
	wantFault(t, f.Run(t.Context(), activity.Call{Args: object{"image": "box:1", "name": "kept"}, Key: "key-2"}), machine.ErrConfiguration, `"kept"`, "lifetime.cleanup")
	wantLeft(t, e, "kept exited")
	// The same call again, as after a crash, takes the place of its lost attempt.
	wantOutput(t, f.do(t, object{"name": "kept", "cleanup": "always", "return": "code"}), "0")
	wantLeft(t, e)
	f.do(t, object{"name": "later", "cleanup": "eventually", "cleanupAfterMs": 3_600_000})
	if next, err := f.sweep(t.Context()); err != nil || next > sweepInterval {
		t.Errorf("next sweep in %s, %v", next, err)
	}
	wantLeft(t, e, "later exited")
	f.do(t, object{"name": "soon", "cleanup": "eventually", "cleanupAfterMs": 0})
	_, _ = f.sweep(t.Context())
	wantLeft(t, e) // key-1 again: "later" counts as lost
}

func TestTheSweepEndsWhatNobodyWaitsFor(t *testing.T) {
	e := docker.Start(t, nil)
	ago := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(-d).UnixMilli()) }
	label := func(cleanup, deadline, after string) map[string]string {
		return map[string]string{labelKey: "k", labelCleanup: cleanup, labelDeadline: deadline, labelAfter: after}
	}
	hour := time.Hour
	old := time.Now().Add(-hour)
	e.Add("1-at-work", container.StateRunning, time.Time{}, label("never", ago(-hour), "0"))
	e.Add("2-lost-never", container.StateRunning, time.Time{}, label("never", ago(hour), "0"))
	e.Add("3-lost-always", container.StateRunning, time.Time{}, label("always", ago(hour), "0"))
	e.Add("4-lost-eventually", container.StateRunning, time.Time{}, label("eventually", ago(hour), "7200000"))
	e.Add("5-never-started", container.StateCreated, time.Time{}, label("never", ago(hour), "0"))
	e.Add("6-ended-never", container.StateExited, old, label("never", ago(hour), "0"))
	e.Add("7-ended-always", container.StateExited, old, label("always", ago(hour), "0"))
	e.Add("8-due", container.StateExited, old, label("eventually", ago(hour), "60000"))
	e.Add("9-not-due", container.StateExited, old, label("eventually", ago(hour), "7200000"))
	e.Add("a-just-ended", container.StateExited, time.Now(), label("eventually", ago(-hour), "0"))
	e.Add("b-foreign", container.StateRunning, time.Time{}, map[string]string{"other": "label"})
	f := newFixture(t, e.Host, func(c *Config) { c.Allowed = true })
	next, err := f.sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantLeft(t, e, "1-at-work running", "2-lost-never exited", "6-ended-never exited", "9-not-due exited", "a-just-ended exited", "b-foreign running")
	if next > f.cfg.CopyTime || next <= 0 {
		t.Errorf("next sweep in %s", next)
	}
}

func TestImages(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"default": shown})
	e.Registry["new:1"] = ""
	e.Registry["box:1"] = ""
	e.Registry["gone:1"] = "manifest unknown"
	f := newFixture(t, e.Host, nil)
	pulls := func() (n int) {
		e.Lock()
		defer e.Unlock()
		for _, r := range e.Requests {
			if r == "POST /images/create" {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		image, policy string
		pulls         int
	}{{"box:1", "", 0}, {"box:1", "never", 0}, {"box:1", "ifNotPresent", 0}, {"box:1", "always", 1}, {"new:1", "", 2}, {"new:1", "", 2}} {
		got := f.do(t, object{"image": c.image, "pullPolicy": c.policy, "return": "code", "cleanup": "always"})
		wantOutput(t, got, "0")
		if n := pulls(); n != c.pulls {
			t.Errorf("%s %s: %d pulls, want %d", c.image, c.policy, n, c.pulls)
		}
	}
	wantFault(t, f.do(t, object{"image": "absent:1", "pullPolicy": "never"}), machine.ErrConfiguration, "absent:1", "pullPolicy")
	wantFault(t, f.do(t, object{"image": "absent:1"}), machine.ErrConfiguration, "absent:1", "cannot be pulled")
	wantFault(t, f.do(t, object{"image": "gone:1"}), machine.ErrRuntime, "gone:1", "manifest unknown")
	wantLeft(t, e)
}

func TestLimits(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{
		"hang": hanging,
		"chatter": func(p *docker.Process) int {
			line := bytes.Repeat([]byte("x"), 1000)
			for {
				select {
				case <-p.Stop:
					return 143
				default:
				}
				if _, err := p.Stdout.Write(line); err != nil {
					<-p.Stop
					return 143
				}
			}
		},
		"eat": func(*docker.Process) int { return 137 },
	})
	f := newFixture(t, e.Host, func(c *Config) {
		c.Limits = process.Limits{Time: 100 * time.Millisecond, OutputBytes: 10_000, MemoryBytes: 1 << 20}
	})
	wantFault(t, f.do(t, object{"command": "hang"}), machine.ErrTimeout, "longer than 100ms")
	f.cfg.Limits.Time = time.Minute
	wantFault(t, f.do(t, object{"command": "chatter"}), machine.ErrRuntime, "10000 bytes", "OUT_DIR")
	wantFault(t, f.do(t, object{"command": "eat", "environment": object{"OOM": 1}}), machine.ErrRuntime, "1 MiB of memory")
	wantFault(t, f.do(t, object{"command": "eat", "cleanup": "always"}), machine.ErrRuntime, "exit code 137")
	wantLeft(t, e)
}

func TestCancellationStopsTheContainer(t *testing.T) {
	for cleanup, want := range map[string][]string{"always": {}, "never": {"cc exited"}, "eventually": {"cc exited"}} {
		running := make(chan struct{})
		e := docker.Start(t, map[string]docker.Program{"hang": func(p *docker.Process) int {
			close(running)
			return hanging(p)
		}})
		f := newFixture(t, e.Host, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-running
			cancel()
		}()
		wantFault(t, f.Run(ctx, call(object{"name": "cc", "command": "hang", "cleanup": cleanup, "cleanupAfterMs": 60_000})), machine.ErrRuntime, "stopped")
		wantLeft(t, e, want...)
	}
}

func TestEngineThatIsAbsentOrFails(t *testing.T) {
	absent := newFixture(t, "unix://"+filepath.Join(t.TempDir(), "none.sock"), nil)
	wantFault(t, absent.do(t, object{}), machine.ErrConfiguration, "no container engine at unix://", "install Docker or Podman", "DOCKER_HOST")
	refused := newFixture(t, "unix:///nowhere", func(c *Config) { c.Allowed = false })
	wantFault(t, refused.do(t, object{}), machine.ErrConfiguration, "--allow-run container")
	for _, request := range []string{"GET /containers/json", "POST /containers/create", "PUT /archive", "POST /attach"} {
		e := docker.Start(t, map[string]docker.Program{"default": shown})
		e.Failing[request] = 500
		got := newFixture(t, e.Host, nil).do(t, object{})
		wantFault(t, got, machine.ErrRuntime, "")
		if got.Fault != nil && (!got.Fault.Retryable || !got.Fault.System) {
			t.Errorf("%s: %+v is the installation's", request, got.Fault)
		}
		wantLeft(t, e)
	}
}

// An engine that hangs gives the place back after a while, and says where it hangs.
func TestEngineThatHangs(t *testing.T) {
	for request, doing := range map[string]string{
		"GET /containers/json": "remove the container of an earlier attempt", "GET /images/box:1/json": "look for the image",
		"POST /containers/create": "create the container", "PUT /archive": "copy files into the container",
		"POST /attach": "attach to the container", "POST /start": "start the container", "GET /archive": "copy files out of the container",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			e := docker.Start(t, map[string]docker.Program{"default": shown})
			e.Failing[request] = docker.Hang
			f := newFixture(t, e.Host, func(c *Config) {
				c.PrepareTime, c.CopyTime = 100*time.Millisecond, 100*time.Millisecond
			})
			got := f.do(t, object{})
			wantFault(t, got, machine.ErrRuntime, doing, "did not finish this within 100ms")
			if got.Fault != nil && (!got.Fault.Retryable || !got.Fault.System) {
				t.Errorf("%+v is the installation's", got.Fault)
			}
		})
	}
}

func TestNamesAreWhatAnEngineTakes(t *testing.T) {
	c := call(object{})
	for given, want := range map[string]string{
		"paint-1.shop-my task": "paint-1.shop-my-task", "../x y": "x-y",
		strings.Repeat("n", 300): strings.Repeat("n", maxNameBytes),
	} {
		if got := nameOf(given, nil, c); got != want {
			t.Errorf("nameOf(%q) = %q, want %q", given, got, want)
		}
	}
	if got := nameOf("é", nil, c); !isName(got) || len(got) < 2 {
		t.Errorf("%q is no name", got)
	}
	workflow := object{"namespace": "shop", "name": "order"}
	got := nameOf("", workflow, c)
	if !regexp.MustCompile(`^order-[0-9a-f-]{36}\.shop-paint$`).MatchString(got) || got != nameOf("", workflow, c) {
		t.Errorf("default name %q", got)
	}
	c.Key = "another"
	if nameOf("", workflow, c) == got {
		t.Error("two calls have the same default name")
	}
}
