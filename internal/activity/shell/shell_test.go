package shell_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/shell"
	"github.com/chargehand/chargehand/internal/machine"
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
	content map[string][]byte // by uri
	stored  []machine.File
	opened  int
	fail    error
}

func (m *memoryFiles) Open(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, _ chargehand.ExecutionID, uri string) (machine.File, io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return machine.File{}, nil, m.fail
	}
	m.opened++
	content, ok := m.content[uri]
	if !ok {
		return machine.File{}, nil, activity.ErrFileNotFound
	}
	return machine.File{Name: m.name(uri), Size: int64(len(content))}, io.NopCloser(bytes.NewReader(content)), nil
}

// name is what stands behind the number of the test's uris.
func (m *memoryFiles) name(uri string) string {
	_, name, _ := strings.Cut(uri, "?")
	return name
}

func (m *memoryFiles) Put(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, name, mediaType string, content io.Reader) (machine.File, error) {
	data, err := io.ReadAll(content)
	if err != nil {
		return machine.File{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := sha256.Sum256(data)
	f := machine.File{
		ID: fmt.Sprintf("f%d", len(m.stored)), Name: name, MediaType: mediaType, Size: int64(len(data)),
		Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}
	m.stored = append(m.stored, f)
	return f, nil
}

// add stores a file and returns a reference to it.
func (m *memoryFiles) add(name, content string) object {
	if m.content == nil {
		m.content = map[string][]byte{}
	}
	uri := fmt.Sprintf("/api/v1/files/%08d-0000-7000-8000-000000000000?%s", len(m.content), name)
	m.content[uri] = []byte(content)
	return object{"uri": uri, "name": name}
}

type fixture struct {
	*shell.Runner
	files   *memoryFiles
	scratch string
}

func newFixture(t *testing.T, limits process.Limits) fixture {
	t.Helper()
	scratch := filepath.Join(t.TempDir(), "scratch")
	confiner, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: scratch, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	files := &memoryFiles{}
	f := fixture{Runner: shell.New(shell.Config{Confiner: confiner, Files: files, Allowed: true}), files: files, scratch: scratch}
	t.Cleanup(func() {
		left, err := os.ReadDir(scratch)
		if err != nil || len(left) != 0 {
			t.Errorf("private directories are left: %v, %v", left, err)
		}
	})
	return f
}

// run runs a command with return: all, unless args says otherwise.
func (f fixture) run(t *testing.T, command string, args object) activity.Result {
	t.Helper()
	return f.call(t, command, args, nil, nil)
}

func (f fixture) call(t *testing.T, command string, args object, input value.Value, metadata object) activity.Result {
	t.Helper()
	all := object{"command": command, "return": "all"}
	for name, value := range args {
		all[name] = value
	}
	return f.Run(t.Context(), activity.Call{Kind: "shell", Args: all, Input: input, Metadata: metadata})
}

// stdout is the text of a success.
func stdout(t *testing.T, result activity.Result) string {
	t.Helper()
	if result.Fault != nil {
		t.Fatalf("fault: %v", result.Fault)
	}
	output := result.Output.(object)
	if output["code"] != 0 {
		t.Fatalf("code %v, stderr %v", output["code"], output["stderr"])
	}
	return output["stdout"].(string)
}

func TestValuesReachTheCommand(t *testing.T) {
	f := newFixture(t, process.Limits{})
	const each = `for a in "$@"; do printf '[%s]' "$a"; done`
	for name, tc := range map[string]struct {
		command string
		args    object
		want    string
	}{
		"pipe":           {`echo a b | wc -w | tr -d ' '`, nil, "2"},
		"lines":          {"x=1\necho $x\n", nil, "1"},
		"list":           {each, object{"arguments": []any{"a b", "", 1, 2.5, true, nil, object{"k": []any{1}}}}, `[a b][][1][2.5][true][][{"k":[1]}]`},
		"no pasting":     {each, object{"arguments": []any{"$(id)", "`id`", "'; id; '", "*", "-rf", "\\"}}, "[$(id)][`id`]['; id; '][*][-rf][\\]"},
		"map":            {each, object{"arguments": object{"name": "Zoë", "count": 2, "none": nil}}, "[--count][2][--name][Zoë][none]"},
		"map of options": {each, object{"arguments": object{"--user": "john", "-c": "x", "Hello": nil}}, "[--user][john][-c][x][Hello]"},
		"map as written": {each, object{"arguments": object{"z-source": nil, "a-dest": nil, "m": 1}, "argumentOrder": []any{"z-source", "m", "a-dest"}}, "[z-source][--m][1][a-dest]"},
		"map of others":  {each, object{"arguments": object{"c": 1, "b": 2, "a": 3}, "argumentOrder": []any{"c", "x"}}, "[--c][1][--a][3][--b][2]"},
		"plain word":     {"echo", object{"arguments": []any{"-n", "a b", "$(id)"}}, "a b $(id)"},
		"word and space": {" /bin/echo\n", object{"arguments": []any{"x", "y"}}, "x y"},
		"no plain word":  {"echo 1;", object{"arguments": []any{"x"}}, "1"},
		"no arguments":   {`echo $#`, nil, "0"},
		"environment":    {`echo "$A|$B|${C-unset}"`, object{"environment": object{"A": "x y", "B": 1, "C": nil}}, "x y|1|unset"},
		"path overruled": {`echo "$PATH"`, object{"environment": object{"PATH": "/bin"}}, "/bin"},
		"stdin":          {`cat`, object{"stdin": "Hello\n\n"}, "Hello"},
		"stdin object":   {`cat`, object{"stdin": object{"b": 1, "a": 2}}, `{"a":2,"b":1}`},
		"own folder":     {`[ "$PWD" = "$HOME" ] && [ "$HOME" = "$TMPDIR" ] && [ -d "$IN_DIR" ] && [ -d "$OUT_DIR" ] && echo $LANG`, nil, "C.UTF-8"},
		"no JSON":        {`echo '{"a": 1}'`, nil, `{"a": 1}`},
		"line breaks":    {`printf 'a\nb\n\n\n'`, nil, "a\nb"},
		"not UTF-8":      {`printf 'a\377b'`, nil, "a\ufffdb"},
		"NUL in output":  {`printf 'a\000b'`, nil, "a\x00b"},
		"zero is sh":     {`echo $0`, nil, "sh"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stdout(t, f.run(t, tc.command, tc.args)); got != tc.want {
				t.Errorf("stdout %q, want %q", got, tc.want)
			}
		})
	}
}

func TestReturnModes(t *testing.T) {
	f := newFixture(t, process.Limits{})
	const good, bad = `echo out; echo err >&2`, `echo out; echo why >&2; exit 3`
	for _, tc := range []struct {
		mode, command string
		want          value.Value
		fault         string
	}{
		{"stdout", good, "out", ""},
		{"stderr", good, "err", ""},
		{"code", good, 0, ""},
		{"none", good, nil, ""},
		{"all", good, object{"code": 0, "stdout": "out", "stderr": "err", "files": []any{}}, ""},
		{"stdout", bad, nil, "the process ended with exit code 3; stderr: why"},
		{"none", bad, nil, "the process ended with exit code 3; stderr: why"},
		{"stderr", bad, "why", ""},
		{"code", bad, 3, ""},
		{"all", bad, object{"code": 3, "stdout": "out", "stderr": "why", "files": []any{}}, ""},
		{"code", `kill -9 $$`, 137, ""},
		{"stdout", `kill -SEGV $$`, nil, "ended by SIGSEGV (exit code 139)"},
		{"stdout", `no-such-command`, nil, "exit code 127"},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			result := f.run(t, tc.command, object{"return": tc.mode})
			switch {
			case tc.fault == "" && result.Fault != nil:
				t.Errorf("fault %v", result.Fault)
			case tc.fault == "" && !value.Equal(result.Output, tc.want):
				t.Errorf("output %#v, want %#v", result.Output, tc.want)
			case tc.fault != "" && (result.Fault == nil || result.Fault.Type != machine.ErrRuntime || result.Fault.Status != 500 || !strings.Contains(result.Fault.Detail, tc.fault)):
				t.Errorf("fault %v, want %q", result.Fault, tc.fault)
			}
		})
	}
}

func TestEndOfLongStderrIsShown(t *testing.T) {
	f := newFixture(t, process.Limits{})
	result := f.run(t, `i=0; while [ $i -lt 2000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`, object{"return": "stdout"})
	if result.Fault == nil || !strings.HasSuffix(result.Fault.Detail, "line 1999") || len(result.Fault.Detail) > 3000 {
		t.Errorf("fault %v", result.Fault)
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	f := newFixture(t, process.Limits{})
	for name, tc := range map[string]struct {
		args object
		want string
	}{
		"NUL in an argument":     {object{"arguments": []any{"a", "b\x00"}}, "argument 2 holds a NUL"},
		"NUL in a flag":          {object{"arguments": object{"k": "b\x00"}}, `argument "k" holds a NUL`},
		"NUL in the environment": {object{"environment": object{"A": "\x00"}}, "environment variable A holds a NUL"},
		"name of a variable":     {object{"environment": object{"A=B": "x"}}, `"A=B" is no name`},
		"empty name":             {object{"environment": object{"": "x"}}, `"" is no name`},
		"environment list":       {object{"environment": []any{"x"}}, "environment must be an object"},
		"arguments text":         {object{"arguments": "x"}, "arguments must be a list or an object"},
	} {
		t.Run(name, func(t *testing.T) {
			result := f.run(t, "true", tc.args)
			if result.Fault == nil || result.Fault.Type != machine.ErrValidation || result.Fault.Status != 400 || !strings.Contains(result.Fault.Detail, tc.want) {
				t.Errorf("fault %v, want %q", result.Fault, tc.want)
			}
		})
	}
	result := f.run(t, "true", object{"arguments": []any{strings.Repeat("x", 200_000)}})
	if result.Fault == nil || result.Fault.Type != machine.ErrConfiguration || !strings.Contains(result.Fault.Detail, "pass large data by stdin") {
		t.Errorf("fault %v", result.Fault)
	}
}

func TestLimitsBecomeFaults(t *testing.T) {
	f := newFixture(t, process.Limits{Time: 2 * time.Second, Grace: 10 * time.Millisecond, OutputBytes: 1 << 10})
	slow := f.run(t, `echo why >&2; exec sleep 60`, nil).Fault
	if slow == nil || slow.Type != machine.ErrTimeout || slow.Status != 408 || !strings.Contains(slow.Detail, "longer than 2s") || !strings.HasSuffix(slow.Detail, "stderr: why") {
		t.Errorf("fault %v", slow)
	}
	loud := f.run(t, `cat /dev/zero`, nil).Fault
	if loud == nil || loud.Type != machine.ErrRuntime || !strings.Contains(loud.Detail, "more than 1 KiB") {
		t.Errorf("fault %v", loud)
	}
}

func TestReferencesAreStaged(t *testing.T) {
	f := newFixture(t, process.Limits{})
	a, b, c := f.files.add("a.txt", "A"), f.files.add("a.txt", "B"), f.files.add("../../my file?.txt", "C")
	hidden, strange := f.files.add(".hidden", "D"), f.files.add("manifest.json", "E")
	gone := object{"uri": "/api/v1/files/99999999-0000-7000-8000-000000000000"}
	input := object{"list": []any{a, object{"deep": b}, a}, "z": c, "x": object{"uri": "https://example.com/other"}, "gone": gone, "h": hidden, "s": strange}
	got := stdout(t, f.call(t, `cd "$IN_DIR"; for n in *; do [ "$n" = manifest.json ] || echo "$n=$(cat "$n")"; done; cat manifest.json`, nil, input, nil))
	lines := strings.Split(got, "\n")
	want := []string{"_hidden=D", "a-2.txt=B", "a.txt=A", "manifest-2.json=E", "my_file_.txt=C"}
	if fmt.Sprint(lines[:len(lines)-1]) != fmt.Sprint(want) {
		t.Errorf("staged %q, want %q", lines[:len(lines)-1], want)
	}
	manifest, err := value.Parse([]byte(lines[len(lines)-1]), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if wanted := (object{
		a["uri"].(string): "a.txt", b["uri"].(string): "a-2.txt", c["uri"].(string): "my_file_.txt",
		hidden["uri"].(string): "_hidden", strange["uri"].(string): "manifest-2.json",
	}); !value.Equal(manifest, wanted) {
		t.Errorf("manifest %v, want %v", manifest, wanted)
	}
}

func TestReferencesArriveAsPaths(t *testing.T) {
	f := newFixture(t, process.Limits{})
	a, b, c, d := f.files.add("a", "A"), f.files.add("b", "B"), f.files.add("c", "C"), f.files.add("d", "D")
	// None is in the input: being an operand is enough.
	got := stdout(t, f.call(t, `cat "$1" "$2" "$B" "$(cat)"; echo " ${1#$IN_DIR/}"; echo "$3"`, object{
		"arguments": []any{a, c, object{"nested": a}}, "environment": object{"B": b}, "stdin": d,
	}, nil, object{"files": object{"in": []any{}}}))
	first, rest, _ := strings.Cut(got, "\n")
	if first != "ACBD a" || !strings.Contains(rest, `"nested":{"name":"a"`) {
		t.Errorf("stdout %q", got)
	}
	flags := stdout(t, f.run(t, `echo "$1"; cat "$2"`, object{"arguments": object{"file": a}}))
	if flags != "--file\nA" {
		t.Errorf("flags %q", flags)
	}
	missing := stdout(t, f.run(t, `echo "$1"`, object{"arguments": []any{object{"uri": "/api/v1/files/x"}}}))
	if missing != `{"uri":"/api/v1/files/x"}` {
		t.Errorf("an object that is no reference arrived as %q", missing)
	}
}

func TestMetadataNarrowsTheInput(t *testing.T) {
	f := newFixture(t, process.Limits{})
	input := object{
		"picture": f.files.add("p.png", "1"), "pages": []any{f.files.add("1.pdf", "2"), f.files.add("2.pdf", "3")},
		"a/b": object{"c": f.files.add("deep.txt", "4")},
	}
	for name, tc := range map[string]struct {
		in   any
		want string
	}{
		"none":            {[]any{}, ""},
		"names":           {[]any{"*.pdf"}, "1.pdf 2.pdf"},
		"pointer":         {[]any{"/picture"}, "p.png"},
		"everything in":   {[]any{"/pages"}, "1.pdf 2.pdf"},
		"one of them":     {[]any{"/pages/1"}, "2.pdf"},
		"pattern":         {[]any{"/*/0", "p.*"}, "1.pdf p.png"},
		"escaped":         {[]any{"/a~1b"}, "deep.txt"},
		"too deep":        {[]any{"/picture/uri"}, ""},
		"a single one":    {"*.png", "p.png"},
		"all":             {[]any{"/"}, "1.pdf 2.pdf deep.txt p.png"},
		"prefix of a key": {[]any{"/pic"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := stdout(t, f.call(t, `cd "$IN_DIR"; ls | grep -v manifest.json | tr '\n' ' '`, nil, input, object{"files": object{"in": tc.in}}))
			if strings.TrimSpace(got) != tc.want {
				t.Errorf("staged %q, want %q", got, tc.want)
			}
		})
	}
	for _, wrong := range []any{5, []any{1}, []any{"["}, nil} {
		if fault := f.call(t, "true", nil, input, object{"files": object{"in": wrong}}).Fault; fault == nil || fault.Type != machine.ErrConfiguration {
			t.Errorf("metadata.files.in %v: fault %v", wrong, fault)
		}
	}
}

func TestFilesAreCollected(t *testing.T) {
	f := newFixture(t, process.Limits{})
	result := f.run(t, `cd "$OUT_DIR"; echo A > b.csv; mkdir -p sub/deep empty; echo BB > sub/a.pdf; printf '\211PNG\r\n\032\n' > sub/deep/picture
ln -s /etc/passwd link; ln -s b.csv inner; mkfifo pipe; echo hidden > .dot; chmod 0 b.csv`, nil)
	stdout(t, result)
	var got []string
	for _, file := range result.Files {
		got = append(got, fmt.Sprintf("%s %s %d", file.Name, file.MediaType, file.Size))
	}
	want := []string{".dot text/plain; charset=utf-8 7", "b.csv text/csv 2", "sub/a.pdf application/pdf 3", "sub/deep/picture image/png 8"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("collected %q, want %q", got, want)
	}
	references := result.Output.(object)["files"].([]any)
	if len(references) != len(want) || !value.Equal(references[1], result.Files[1].Reference()) {
		t.Errorf("references %v", references)
	}
	plain := f.run(t, `echo x > "$OUT_DIR/x"; echo text`, object{"return": "stdout"})
	if plain.Output != "text" || len(plain.Files) != 1 {
		t.Errorf("output %v, files %v: files go with every mode", plain.Output, plain.Files)
	}
	failed := f.run(t, `echo x > "$OUT_DIR/x"; exit 1`, nil)
	if failed.Fault != nil || len(failed.Files) != 0 {
		t.Errorf("a failure has files: %v", failed)
	}
}

// Names of result files are data of authors, and end up in lists, headers and terminals.
func TestNamesOfResultFilesAreFitForDisplay(t *testing.T) {
	f := newFixture(t, process.Limits{})
	result := f.run(t, `cd "$OUT_DIR"; mkdir "$1"; : > "$1/$2"; : > "$3"; : > "$4"; : > "$5"`,
		object{"arguments": []any{"sub\rfolder", "a\nb.csv", "\u202egnp.exe", "x\ty\u2066\u200f\u061c.txt", "\x1b[2J"}})
	stdout(t, result)
	var names []string
	for _, file := range result.Files {
		names = append(names, file.Name)
	}
	slices.Sort(names)
	if want := []string{"[2J", "gnp.exe", "subfolder/ab.csv", "xy.txt"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if i := slices.IndexFunc(result.Files, func(f machine.File) bool { return f.Name == "subfolder/ab.csv" }); i >= 0 && result.Files[i].MediaType != "text/csv" {
		t.Errorf("the type is %s", result.Files[i].MediaType)
	}
}

// Holes of files take no room in the private directory, but they do where files are kept.
func TestSumOfResultFilesIsBounded(t *testing.T) {
	f := newFixture(t, process.Limits{})
	large := f.run(t, `cd "$OUT_DIR"; for i in 1 2 3 4 5 6 7 8 9; do truncate -s 500M $i; done`, nil)
	if large.Fault == nil || !strings.Contains(large.Fault.Detail, "4500 MiB together; at most 4096 MiB are collected") {
		t.Errorf("fault %v", large.Fault)
	}
	if len(f.files.stored) != 0 {
		t.Errorf("%d files were stored before the sum was known", len(f.files.stored))
	}
	narrowed := f.call(t, `cd "$OUT_DIR"; for i in 1 2 3 4 5 6 7 8 9; do truncate -s 500M $i; done; echo x > a.txt`, nil, nil,
		object{"files": object{"collect": []any{"a.txt"}}})
	if stdout(t, narrowed); len(narrowed.Files) != 1 {
		t.Errorf("files %v: what is not collected counts", narrowed.Files)
	}
}

func TestMetadataNarrowsTheOutput(t *testing.T) {
	f := newFixture(t, process.Limits{})
	for name, tc := range map[string]struct {
		collect any
		want    string
	}{
		"names":   {[]any{"*.pdf"}, "[a.pdf sub/b.pdf]"},
		"path":    {[]any{"sub/*"}, "[sub/b.pdf sub/c.txt]"},
		"rooted":  {[]any{"/*.pdf"}, "[a.pdf]"},
		"several": {[]any{"a.*", "c.*"}, "[a.pdf sub/c.txt]"},
		"none":    {[]any{}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			result := f.call(t, `cd "$OUT_DIR"; mkdir sub; touch a.pdf sub/b.pdf sub/c.txt`, nil, nil, object{"files": object{"collect": tc.collect}})
			stdout(t, result)
			names := []string{}
			for _, file := range result.Files {
				names = append(names, file.Name)
			}
			if fmt.Sprint(names) != tc.want {
				t.Errorf("collected %v, want %s", names, tc.want)
			}
		})
	}
	many := f.run(t, `cd "$OUT_DIR"; i=0; while [ $i -le 1000 ]; do : > $i; i=$((i+1)); done`, nil)
	if many.Fault == nil || !strings.Contains(many.Fault.Detail, "1001 files") {
		t.Errorf("fault %v", many.Fault)
	}
	gone := f.run(t, `rm -r "$OUT_DIR"; echo x`, nil)
	if stdout(t, gone) != "x" || len(gone.Files) != 0 {
		t.Errorf("without OUT_DIR: %v", gone)
	}
	swapped := f.run(t, `rm -r "$OUT_DIR"; ln -s /etc "$OUT_DIR"; echo x`, nil)
	if swapped.Fault == nil && len(swapped.Files) > 0 {
		t.Errorf("a link in the place of OUT_DIR was followed: %d files", len(swapped.Files))
	}
}

func TestTroubleOfTheInstallationIsNotReported(t *testing.T) {
	f := newFixture(t, process.Limits{})
	reference := f.files.add("a", "A")
	f.files.fail = errors.New("disk at /secret/place is broken")
	fault := f.call(t, "true", nil, reference, nil).Fault
	if fault == nil || !fault.System || !fault.Retryable || strings.Contains(fault.Detail, "secret") {
		t.Errorf("fault %+v", fault)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	f := newFixture(t, process.Limits{Grace: 10 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	f.Run(ctx, activity.Call{Args: object{"command": "sleep 60"}})
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

func BenchmarkShell(b *testing.B) {
	confiner, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	r := shell.New(shell.Config{Confiner: confiner, Files: &memoryFiles{}, Allowed: true})
	for b.Loop() {
		if result := r.Run(b.Context(), activity.Call{Args: object{"command": "exit 0"}}); result.Fault != nil {
			b.Fatal(result.Fault)
		}
	}
}
