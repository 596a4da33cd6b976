package script_test

import (
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		peer.Skip(t, "there is no python3 on this machine's PATH")
	}
}

func TestPythonValues(t *testing.T) {
	needPython(t)
	r := newRunner(t, script.Limits{})
	for name, tc := range map[string]struct {
		code string
		args object
		want value.Value
	}{
		"print":             {`print("a", 1)`, nil, "a 1"},
		"return":            {`return {"a": [1, 2.5, None, True, "é"]}`, nil, object{"a": []any{1, 2.5, nil, true, "é"}}},
		"value wins":        {"print('text')\nreturn 7", nil, 7},
		"none":              {"print('text')\nreturn None", nil, "text"},
		"return in a block": {"for i in range(5):\n    if i == 3:\n        return i", nil, 3},
		"return in a def":   {"def f():\n    return 1\nprint(f())", nil, "1"},
		"names are global":  {"x = 1\ndef f():\n    return x + 1\nx = 5\nreturn f()", nil, 6},
		"comprehension":     {"n = 3\nreturn [n * i for i in range(n)]", nil, []any{0, 3, 6}},
		"future":            {"from __future__ import annotations\ndef f(x: Nowhere): return 1\nreturn f(1)", nil, 1},
		"classes":           {"class A:\n    def f(self):\n        return B().g()\nclass B:\n    def g(self):\n        return 4\nreturn A().f()", nil, 4},
		"texts of lines":    {"s = '''a\n  b'''\nreturn s", nil, "a\n  b"},
		"main":              {"if __name__ == '__main__':\n    print('main')", nil, "main"},
		"pickle":            {"import pickle\nclass A: pass\nreturn type(pickle.loads(pickle.dumps(A()))).__name__", nil, "A"},
		"list":              {"import sys\nreturn sys.argv[1:]", object{"arguments": []any{"a b", 1, nil}}, []any{"a b", "1", ""}},
		"map":               {"import json, sys\nreturn [name, count + 1, json.loads(sys.argv[1])['name']]", object{"arguments": object{"name": "Zoë", "count": 1}}, []any{"Zoë", 2, "Zoë"}},
		"map assigned":      {"count += 1\nreturn count", object{"arguments": object{"count": 5}}, 6},
		"data is no code":   {"return text", object{"arguments": object{"text": "'''\"\"\"\\n{}$(id)\u2028\x00"}}, "'''\"\"\"\\n{}$(id)\u2028\x00"},
		"environment":       {"import os\nreturn os.environ['foo']", object{"environment": object{"foo": "bar"}}, "bar"},
		"stdin":             {"import sys\nreturn sys.stdin.read()", object{"stdin": "Hello ✓"}, "Hello ✓"},
		"exit":              {"import sys\nprint('a')\nsys.exit(0)", nil, "a"},
		"modules":           {"import json, sqlite3, hashlib, csv, ssl, threading, subprocess\nreturn subprocess.run(['/bin/echo', 'x'], capture_output=True, text=True).stdout", nil, "x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := parts(t, run(t, r, "python", tc.code, tc.args))
			if code != 0 || !value.Equal(stdout, tc.want) {
				t.Errorf("code %d, stdout %#v, want %#v; stderr %s", code, stdout, tc.want, stderr)
			}
		})
	}
}

// What the filter refuses must not break what scripts are used to.
func TestPythonLibrariesWork(t *testing.T) {
	needPython(t)
	r := newRunner(t, script.Limits{})
	namespaces := process.Capabilities().Namespaces
	for name, tc := range map[string]struct {
		code   string
		want   value.Value
		shared bool // it needs /dev/shm
	}{
		"subprocess":       {"import subprocess\nreturn subprocess.run(['cat'], input='x', capture_output=True, text=True).stdout", "x", false},
		"asyncio":          {"import asyncio\nasync def f():\n    p = await asyncio.create_subprocess_exec('echo', 'y', stdout=asyncio.subprocess.PIPE)\n    out, _ = await p.communicate()\n    return out.decode() + await asyncio.to_thread(lambda: 'z')\nreturn asyncio.run(f())", "y\nz", false},
		"socketpair":       {"import socket\na, b = socket.socketpair()\na.sendall(b'x')\nreturn b.recv(1).decode()", "x", false},
		"threads":          {"from concurrent.futures import ThreadPoolExecutor\nreturn list(ThreadPoolExecutor(4).map(lambda i: i * i, range(4)))", []any{0, 1, 4, 9}, false},
		"names":            {"import socket\nreturn socket.getaddrinfo('localhost', 80, socket.AF_INET)[0][4][0]", "127.0.0.1", false},
		"users":            {"import os, pwd\nreturn pwd.getpwuid(0).pw_name", "root", false},
		"process and pipe": {"import multiprocessing as m\nm = m.get_context('fork')\na, b = m.Pipe()\np = m.Process(target=lambda: b.send(5))\np.start()\nx = a.recv()\np.join()\nreturn x + p.exitcode", 5, false},
		"pool":             {"import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p:\n    return p.map(abs, [-1, -2])", []any{1, 2}, true},
		"spawn":            {"import multiprocessing as m\nwith m.get_context('spawn').Pool(2) as p:\n    return p.map(abs, [-1, -2])", []any{1, 2}, true},
		"shared memory":    {"from multiprocessing.shared_memory import SharedMemory\ns = SharedMemory(create=True, size=10)\ns.buf[0] = 7\nx = s.buf[0]\ns.close()\ns.unlink()\nreturn x", 7, true},
		"UNIX socket":      {"import socket\ntry:\n    socket.socket(socket.AF_UNIX)\nexcept OSError as e:\n    return e.strerror", "Address family not supported by protocol", false},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, r, "python", tc.code, nil)
			if tc.shared && namespaces != nil {
				if result.Fault == nil {
					t.Errorf("it works without namespaces: %v", result.Output)
				}
				return
			}
			if _, got, stderr := parts(t, result); !value.Equal(got, tc.want) {
				t.Errorf("got %v, want %v, stderr %s", got, tc.want, stderr)
			}
		})
	}
}

func TestPythonFailures(t *testing.T) {
	needPython(t)
	r := newRunner(t, script.Limits{})
	for name, tc := range map[string]struct {
		code   string
		status int
		stderr []string
	}{
		"raise":   {"\nraise ValueError('no')", 1, []string{`File "script.py", line 2`, "raise ValueError('no')", "ValueError: no"}},
		"wrapped": {"x = 1\nif x: raise ValueError('no')\nreturn 1", 1, []string{`File "script.py", line 2`, "ValueError: no"}},
		"syntax":  {"x = (", 1, []string{"SyntaxError", "script.py"}},
		"exit":    {"import sys\nsys.exit(3)", 3, nil},
		"message": {"import sys\nsys.exit('why')", 1, []string{"why"}},
		"no JSON": {"return object()", 1, []string{"no JSON"}},
		"nan":     {"return float('nan')", 1, []string{"no JSON"}},
		"outside": {"open('/tmp/chargehand-test-file', 'w')", 1, []string{"Error"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := parts(t, run(t, r, "python", tc.code, nil))
			if code != tc.status {
				t.Errorf("code %d, want %d; stderr %s", code, tc.status, stderr)
			}
			for _, want := range tc.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q lacks %q", stderr, want)
				}
			}
			if strings.Contains(stderr, `File "<string>"`) {
				t.Errorf("stderr %q shows the wrapper", stderr)
			}
		})
	}
}

// TestPythonResultIsOnlyRead makes sure that a script cannot make the server read for it.
func TestPythonResultIsOnlyRead(t *testing.T) {
	needPython(t)
	r := newRunner(t, script.Limits{})
	for name, code := range map[string]string{
		"link":   "import os\nos.symlink('/etc/passwd', '.result.json')\nprint('x')",
		"pipe":   "import os\nos.mkfifo('.result.json')\nprint('x')",
		"folder": "import os\nos.mkdir('.result.json')\nprint('x')",
	} {
		t.Run(name, func(t *testing.T) {
			if _, stdout, _ := parts(t, run(t, r, "python", code, nil)); stdout != "x" {
				t.Errorf("stdout %v", stdout)
			}
		})
	}
	forged := run(t, r, "python", "open('.result.json', 'w').write('{')", nil)
	if forged.Fault == nil || !strings.Contains(forged.Fault.Detail, "cannot be kept") {
		t.Errorf("fault %v", forged.Fault)
	}
}

func TestPythonMustBeAllowed(t *testing.T) {
	confiner, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := script.New(script.Config{Confiner: confiner, Files: noFiles{}})
	defer r.Close()
	result := run(t, r, "python", `print(1)`, nil)
	if result.Fault == nil || result.Fault.Type != machine.ErrConfiguration || !strings.Contains(result.Fault.Detail, "not allowed") {
		t.Errorf("fault %v", result.Fault)
	}
}

func TestPythonVersion(t *testing.T) {
	needPython(t)
	r := newRunner(t, script.Limits{})
	version, err := r.PythonVersion(t.Context())
	if err != nil || !strings.HasPrefix(version, "3.") {
		t.Errorf("version %q, %v", version, err)
	}
}

func TestMissingPythonIsReported(t *testing.T) {
	confiner, err := process.New(process.Config{
		Logger: slog.New(slog.DiscardHandler), Scratch: t.TempDir(), Path: "/nonexistent",
	})
	if err != nil {
		t.Fatal(err)
	}
	r := script.New(script.Config{Confiner: confiner, Files: noFiles{}, Python: true})
	defer r.Close()
	result := run(t, r, "python", `print(1)`, nil)
	if result.Fault == nil || result.Fault.Type != machine.ErrConfiguration || !strings.Contains(result.Fault.Detail, "no python3") {
		t.Errorf("fault %v", result.Fault)
	}
}

func BenchmarkPython(b *testing.B) {
	r := newRunner(b, script.Limits{})
	for b.Loop() {
		parts(b, run(b, r, "python", `return 1`, nil))
	}
}
