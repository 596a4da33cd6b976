package handbook

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/servertest"
)

// pageTime bounds the time of one page: a few seconds, on a machine that does much else.
const pageTime = 5 * time.Minute

// tools are the programs of the repository that pages name: the folder has them, and nothing else.
var tools string

func TestMain(m *testing.M) {
	code := m.Run()
	stopPeers()
	_ = os.RemoveAll(tools)
	os.Exit(code)
}

func pages(t *testing.T) []Page {
	t.Helper()
	list, err := Pages(servertest.Root())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPages runs the commands of each page that has some.
func TestPages(t *testing.T) {
	tools = buildTools(t)
	for i, page := range pages(t) {
		if page.Generated || !slices.ContainsFunc(page.Blocks, isRun) {
			continue
		}
		t.Run(strings.TrimSuffix(page.Name, ".md"), func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, page, i)
			printed := r.run(t)
			r.compare(t, printed)
		})
	}
}

func isRun(b Block) bool {
	return b.Language == "sh" && (b.Kind == "" || b.Kind == "exit" || b.Kind == "setup")
}

// buildTools makes a folder with the binary and the program of the examples.
func buildTools(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "chargehand-pages-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(servertest.Binary(t), filepath.Join(folder, "chargehand")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(folder, "picture"), "./examples/picture")
	build.Dir = servertest.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build picture: %v\n%s", err, out)
	}
	return folder
}

// runner runs the commands of one page.
type runner struct {
	page    Page
	folder  string
	address string // in place of 127.0.0.1
	replace *strings.Replacer
	env     []string
}

// newRunner prepares the folder and the servers of a page. Each page of each test process has an address
// of its own, so pages run side by side with the ports that they show.
func newRunner(t *testing.T, page Page, number int) *runner {
	t.Helper()
	for _, program := range []string{"bash", "curl", "python3", "node"} {
		needed := func(b Block) bool { return isRun(b) && strings.Contains("\n"+b.Text, "\n"+program+" ") }
		if _, err := exec.LookPath(program); err != nil && (program == "bash" || slices.ContainsFunc(page.Blocks, needed)) {
			peer.Skip(t, "the commands of %s need %s (make setup)", page.Name, program)
		}
	}
	pid := os.Getpid()
	r := &runner{page: page, folder: t.TempDir(), address: fmt.Sprintf("127.%d.%d.%d", 64+pid>>8&127, pid&255, number+2)}
	pairs := []string{"127.0.0.1", r.address}
	for _, folder := range []string{"/var/lib/chargehand", "/etc/chargehand", "/var/backups"} {
		pairs = append(pairs, folder, r.folder+folder)
	}
	further, env := peersOf(t, page)
	r.replace = strings.NewReplacer(append(pairs, further...)...)
	for _, folder := range []string{"/var/lib", "/etc/chargehand", "/var/backups"} {
		if err := os.MkdirAll(r.folder+folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(tools, filepath.Join(r.folder, "bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(r.folder, "examples"), os.DirFS(filepath.Join(servertest.Root(), "examples"))); err != nil {
		t.Fatal(err)
	}
	definitions, _ := filepath.Glob(filepath.Join(r.folder, "examples", "*.yaml"))
	for _, path := range definitions {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(r.replace.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.env = append(outsideEnvironment(), append(env, "PATH="+tools+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+r.folder,
		"CHARGEHAND_LISTEN="+r.address+":8080", "CHARGEHAND_URL=http://"+r.address+":8080")...)
	return r
}

// outsideEnvironment is the environment of this process without settings of ours.
func outsideEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CHARGEHAND_") || strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "AWS_")
	})
}

const marker = "\x01"

// prelude has what blocks of `sh setup` may use: with_server FLAGS… starts a server with its log in
// server.log, and makes a key; definition NAMESPACE/NAME applies examples/hello under another name.
const prelude = `set -eo pipefail
with_server() {
  chargehand serve "$@" >server.log 2>&1 &
  chargehand ready --wait 20s
  export CHARGEHAND_API_KEY=$(chargehand keys create --preset all)
}
definition() {
  sed "s/namespace: .*/namespace: ${1%/*}/; s/name: hello/name: ${1#*/}/" examples/hello.yaml >"${1#*/}.yaml"
  chargehand workflows apply "${1#*/}.yaml"
}
`

// script is the page as one script, with a mark before each block.
func (r *runner) script() string {
	out := &strings.Builder{}
	out.WriteString(prelude)
	for _, b := range r.page.Blocks {
		text := r.replace.Replace(b.Text)
		switch {
		case b.Kind == "save":
			fmt.Fprintf(out, "cat >%s <<'END OF THE FILE'\n%sEND OF THE FILE\n", r.replace.Replace(b.Name), text)
		case !isRun(b):
		case b.Kind == "exit":
			fmt.Fprintf(out, "echo '%s%d'\nset +e; ( set -e\n%s); code=$?; set -e\n[ \"$code\" = %s ] || { echo \"the exit code is $code, not %s\"; exit 1; }\n",
				marker, b.Line, text, b.Name, b.Name)
		default:
			fmt.Fprintf(out, "echo '%s%d'\n%s", marker, b.Line, text)
		}
	}
	fmt.Fprintf(out, "echo '%send'\n", marker)
	return out.String()
}

// run runs the page, and returns what each block printed, by its line.
func (r *runner) run(t *testing.T) map[int]string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "page.sh")
	if err := os.WriteFile(script, []byte(r.script()), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	ctx, cancel := context.WithTimeout(t.Context(), pageTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.folder, r.env, output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	failed := cmd.Start()
	if failed == nil {
		failed = cmd.Wait()
		endSession(t, cmd.Process.Pid)
	}
	text, err := os.ReadFile(output.Name())
	if err != nil {
		t.Fatal(err)
	}
	printed, last := r.split(string(text))
	if failed != nil || !bytes.Contains(text, []byte(marker+"end\n")) {
		t.Errorf("%s, line %d: %v\n%s", r.page.Name, last, failed, printed[last])
		if log, err := os.ReadFile(filepath.Join(r.folder, "server.log")); err == nil {
			t.Logf("server.log:\n%s", log)
		}
	}
	return printed
}

// split divides what a page printed among its blocks; last is the line of the block that came last.
func (r *runner) split(text string) (printed map[int]string, last int) {
	printed = map[int]string{}
	for _, line := range strings.SplitAfter(text, "\n") {
		// What a command prints without a line break stands before the mark of the next block.
		before, mark, found := strings.Cut(line, marker)
		printed[last] += before
		if found {
			if n, err := strconv.Atoi(strings.TrimSpace(mark)); err == nil {
				last = n
			}
		}
	}
	return printed, last
}

// endSession ends everything that a page has started and that still runs. A page's processes have its
// session; those that steps start end with their server.
func endSession(t *testing.T, session int) {
	t.Helper()
	for range 100 {
		alive := false
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, path := range stats {
			stat, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			// After the name, which may hold anything: state, parent, group, session.
			fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
			if len(fields) < 4 || fields[3] != strconv.Itoa(session) || fields[0] == "Z" {
				continue
			}
			alive = true
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if !alive {
			return
		}
		time.Sleep(10 * time.Millisecond) // the end of a process that is not ours has no other signal
	}
	t.Errorf("processes of the page do not end")
}

var space = regexp.MustCompile(`[ \t]+`)

// compare holds what blocks printed to what the page says.
func (r *runner) compare(t *testing.T, printed map[int]string) {
	t.Helper()
	line := 0
	for _, b := range r.page.Blocks {
		switch {
		case isRun(b):
			line = b.Line
		case b.Language == "text" && b.Kind == "output":
			if line == 0 {
				t.Errorf("%s, line %d: the output of no command", r.page.Name, b.Line)
				continue
			}
			if err := shows(printed[line], r.replace.Replace(b.Text)); err != nil && !t.Failed() {
				t.Errorf("%s, line %d: %v in\n%s", r.page.Name, b.Line, err, printed[line])
			}
		}
	}
}

// shows reports whether a text has all lines that are wanted, in their order.
func shows(text, wanted string) error {
	lines := strings.Split(text, "\n")
	for want := range strings.Lines(wanted) {
		want = strings.TrimSpace(space.ReplaceAllString(want, " "))
		if want == "" || want == "…" {
			continue
		}
		parts := strings.Split(want, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		found := slices.IndexFunc(lines, func(line string) bool {
			return pattern.MatchString(strings.TrimSpace(space.ReplaceAllString(line, " ")))
		})
		if found < 0 {
			return fmt.Errorf("there is no line %q", want)
		}
		lines = lines[found+1:]
	}
	return nil
}
