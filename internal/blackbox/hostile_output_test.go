package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/value"
)

// TestHostileProcesses: what a process may see, and what it may leave in OUT_DIR.
func TestHostileProcesses(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-run", "shell,python")
	secret := write(t, s.DataDir, "secret.txt", "TOP-SECRET")
	if strings.Contains(s.Log(), "Landlock") { // the server warns of what it cannot confine
		peer.Skip(t, "this kernel cannot confine processes as far as the pages promise:\n%s", s.Log())
	}
	t.Run("sees nothing of the server", func(t *testing.T) { testProcessSees(t, s, secret) })
	t.Run("leaves strange files", func(t *testing.T) { testProcessLeaves(t, s, secret) })
}

func shell(command string) string {
	return "do:\n- a:\n    run:\n      shell:\n        command: |\n          " + strings.ReplaceAll(command, "\n", "\n          ") + "\n      return: all\n"
}

func testProcessSees(t *testing.T, s *server, secret string) {
	script := fmt.Sprintf("env; echo ---; cat %s; cat %s; cat %s; ls %s; ls /root; cat /proc/%d/environ; kill -9 %d; echo x > %s/written; echo x > /tmp/chargehand-escaped; true",
		secret, filepath.Join(s.DataDir, "master.key"), filepath.Join(s.DataDir, "chargehand.db"), s.DataDir, s.PID(), s.PID(), s.DataDir)
	e := finish(t, s, begin(t, s, deploy(t, s, shell(script)), "{}"))
	out := fields(e["output"])
	environment, rest, _ := strings.Cut(text(out["stdout"]), "---")
	if out["code"] != 0 || strings.TrimSpace(rest) != "" {
		t.Errorf("the process sees %q (%s)", rest, value.Marshal(e["error"]))
	}
	for line := range strings.Lines(environment) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.Contains(" PATH LANG HOME TMPDIR IN_DIR OUT_DIR PWD OLDPWD SHLVL _ ", " "+strings.TrimSpace(name)+" ") {
			t.Errorf("the process sees the variable %s", strings.TrimSpace(line))
		}
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, "written")); err == nil {
		t.Error("the process wrote into the data directory")
	}
	if _, err := os.Stat("/tmp/chargehand-escaped"); err == nil {
		os.Remove("/tmp/chargehand-escaped")
		t.Error("the process wrote outside of its directory")
	}
	wantStatus(t, s.Do(t, "GET", "/limits", ""), 200) // and the server lives
	key := s.Key
	if strings.Contains(string(value.Marshal(e)), key) || strings.Contains(string(value.Marshal(e)), "TOP-SECRET") {
		t.Error("the process saw a secret")
	}
}

// testProcessLeaves: only plain files of the process itself are collected; whatever else lies
// in OUT_DIR neither leaks a file of the server nor holds it up.
func testProcessLeaves(t *testing.T, s *server, secret string) {
	for name, script := range map[string]string{
		"link to a secret":     fmt.Sprintf("ln -s %s \"$OUT_DIR/leak.txt\"; echo fine > \"$OUT_DIR/fine.txt\"", secret),
		"link to a folder":     fmt.Sprintf("ln -s %s \"$OUT_DIR/leak\"; echo fine > \"$OUT_DIR/fine.txt\"", s.DataDir),
		"link to itself":       "ln -s loop \"$OUT_DIR/loop\"; echo fine > \"$OUT_DIR/fine.txt\"",
		"hard link":            fmt.Sprintf("ln %s \"$OUT_DIR/leak.txt\" 2>/dev/null; echo fine > \"$OUT_DIR/fine.txt\"", secret),
		"pipe":                 "mkfifo \"$OUT_DIR/pipe\"; echo fine > \"$OUT_DIR/fine.txt\"",
		"device":               "mknod \"$OUT_DIR/zero\" c 1 5 2>/dev/null; echo fine > \"$OUT_DIR/fine.txt\"",
		"no permission":        "echo x > \"$OUT_DIR/closed\"; chmod 000 \"$OUT_DIR/closed\"; echo fine > \"$OUT_DIR/fine.txt\"",
		"names":                "cd \"$OUT_DIR\"; touch 'a\nb' 'c\"d' \"$(printf 'x\\377y')\" '-rf' \"$(printf 'n%.0s' $(seq 250))\"; echo fine > fine.txt",
		"deep":                 "cd \"$OUT_DIR\"; echo fine > fine.txt; for i in $(seq 200); do mkdir d && cd d; done; echo x > deep.txt",
		"replaced directory":   fmt.Sprintf("rmdir \"$OUT_DIR\" && ln -s %s \"$OUT_DIR\"; true", s.DataDir),
		"directory taken away": "rm -rf \"$OUT_DIR\" \"$IN_DIR\"; true",
		"modes taken away":     "echo fine > \"$OUT_DIR/fine.txt\"; mkdir \"$OUT_DIR/d\"; echo x > \"$OUT_DIR/d/f\"; chmod 000 \"$OUT_DIR/d\"",
	} {
		t.Run(name, func(t *testing.T) {
			path := begin(t, s, deploy(t, s, shell(script)), "{}")
			var e object
			eventually(t, "the execution ends", func() bool {
				e = s.Do(t, "GET", path, "").Object()
				return e["status"] == "finished" || e["status"] == "error"
			})
			if e["status"] == "error" {
				if fault := fields(e["error"]); fault["origin"] != "workflow" || text(fault["detail"]) == "" {
					t.Errorf("%s", value.Marshal(fault))
				}
				return
			}
			for _, r := range list(e["results"]) {
				r := fields(r)
				a := plain(t, s, "GET", text(r["url"]))
				if a.Status != 200 || strings.Contains(string(a.Body), "TOP-SECRET") || len(a.Body) > 1<<20 || strings.HasPrefix(text(r["filename"]), "leak") {
					t.Errorf("%v holds %.100q", r, a.Body)
				}
			}
		})
	}
}
