package cli

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/installation"
)

// writeFile writes a file below a new folder and returns its path.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// freeAddress is an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var listeningAt = regexp.MustCompile(`msg=listening url=(\S+)`)

// TestServeReadsTheConfigOfTheEnvironment: CHARGEHAND_CONFIG names the file as --config does, and a variable of a
// setting wins over the file.
func TestServeReadsTheConfigOfTheEnvironment(t *testing.T) {
	address := freeAddress(t)
	t.Setenv("CHARGEHAND_CONFIG", writeFile(t, "serve.yaml", "listen: "+address+"\nrate-limit: much\n"))
	t.Setenv("CHARGEHAND_RATE_LIMIT", "7")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		root := newRoot(console{strings.NewReader(""), io.Discard, stderr})
		root.SetArgs([]string{"serve", "--data-dir", filepath.Join(t.TempDir(), "data")})
		ended <- root.ExecuteContext(ctx)
		stderr.Close()
	}()
	found := ""
	for lines := bufio.NewScanner(log); found == "" && lines.Scan(); {
		if m := listeningAt.FindStringSubmatch(lines.Text()); m != nil {
			found = m[1]
		}
	}
	go io.Copy(io.Discard, log) // the rest of the log must not block the server
	if found != "http://"+address {
		t.Errorf("listening at %q, want http://%s", found, address)
	} else if resp, err := http.Get(found + "/healthz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("asking for /healthz: %v", err)
	} else {
		resp.Body.Close()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestAConfigOfTheEnvironmentThatIsNotThere(t *testing.T) {
	t.Chdir(t.TempDir()) // a command that does not look for the file would work here
	t.Setenv("CHARGEHAND_CONFIG", filepath.Join(t.TempDir(), "absent.yaml"))
	for _, args := range []string{"serve", "worker", "backup copy", "doctor", "keys create", "temporal setup"} {
		if code, _, err := command(t, strings.Fields(args)...); code != ExitUsage || !strings.Contains(err, "absent.yaml") {
			t.Errorf("%s: exit code %d, %s", args, code, err)
		}
	}
}

// TestBackupWithFilesElsewhere: the settings of the server are needed to find its files, and one file can hold them.
func TestBackupWithFilesElsewhere(t *testing.T) {
	dir := t.TempDir()
	settings := installation.Settings{DataDir: filepath.Join(dir, "data"), FilesURL: "file://" + filepath.Join(dir, "elsewhere")}
	serveWithAFile(t, settings)
	config := writeFile(t, "serve.yaml", "listen: 127.0.0.1:9\ndata-dir: "+settings.DataDir+"\nfiles-url: "+settings.FilesURL+"\n")

	code, _, log := command(t, "backup", "--data-dir", settings.DataDir, filepath.Join(dir, "poor"))
	if code != ExitFailed || !strings.Contains(log, `"a.txt"`) || !strings.Contains(log, "--files-url") {
		t.Errorf("a backup without the files: exit code %d, %s", code, log)
	}
	if code, out, log := command(t, "doctor", "--config", config); code != ExitDone || !strings.Contains(out, "none was made with `chargehand backup`") {
		t.Errorf("doctor with the settings of the server: exit code %d\n%s%s", code, out, log)
	}
	copied := filepath.Join(dir, "copy")
	if code, _, log := command(t, "backup", "--config", config, copied); code != ExitDone || !strings.Contains(log, "1 file (11 bytes)") {
		t.Fatalf("a backup with the settings of the server: exit code %d, %s", code, log)
	}
	// What is restored has its files in it.
	t.Setenv("CHARGEHAND_CONFIG", config)
	again := filepath.Join(dir, "again")
	if code, out, log := command(t, "restore", "--data-dir", again, copied); code != ExitDone || !strings.Contains(out, "1 contents in") {
		t.Errorf("restore: exit code %d\n%s%s", code, out, log)
	}
}

// workerValues are values of the settings of a worker, which differ from the defaults.
var workerValues = map[string]string{
	"data-dir": "other", "database-url": "postgres://ada@127.0.0.1:1/other", "files-url": "file:///tmp/files", "encrypt": "all",
	"listen": "127.0.0.1:0", "public-url": "https://flows.example.com", "debug-listen": "127.0.0.1:0", "log-level": "debug", "log-format": "json",
	"allow-run": "shell", "container-volume": "/tmp:ro", "container-capability": "CHOWN", "allow-egress": "10.0.0.0/8",
	"connect-to": "a.example.com:80:b.example.com:81", "resource-root": "/tmp", "max-running": "7", "max-calls": "7", "max-streams": "7",
	"max-processes": "7", "max-scripts": "7", "script-timeout": "7s", "execution-log-size": "1MiB",
	"lifecycle-events": "task", "lifecycle-prefix": "org.example",
	"temporal-address": "127.0.0.1:1", "temporal-namespace": "flows", "temporal-task-queue": "other", "temporal-api-key": "key", "temporal-tls": "true",
	"temporal-tls-cert-path": "cert.pem", "temporal-tls-key-path": "key.pem", "temporal-tls-ca-path": "ca.pem",
	"temporal-tls-server-name": "temporal.example.com", "temporal-tls-disable-host-verification": "true",
	"trusted-ca": "ca.pem", "config": "", "master-key-file": "",
}

// TestAWorkerAcceptsItsSettings: the page of settings marks them for workers.
func TestAWorkerAcceptsItsSettings(t *testing.T) {
	// A file may hold settings of servers alone.
	t.Setenv("CHARGEHAND_CONFIG", writeFile(t, "worker.yaml", "max-running-per-workflow: 3\nrate-limit: 3\n"))
	t.Setenv("CHARGEHAND_DATABASE_URL", "postgres://ada@127.0.0.1:1/flows")
	t.Setenv("CHARGEHAND_MASTER_KEY_FILE", filepath.Join(t.TempDir(), "absent.key"))
	newWorker(console{}).Flags().VisitAll(func(f *pflag.Flag) {
		value, ok := workerValues[f.Name]
		if !ok {
			t.Errorf("no value of --%s is tried", f.Name)
			return
		}
		args := []string{"worker"}
		if value != "" {
			args = append(args, "--"+f.Name+"="+value)
		}
		// The key is looked for after every setting was checked.
		if code, _, err := command(t, args...); code != ExitUsage || !strings.Contains(err, "no master key file") {
			t.Errorf("--%s=%s: exit code %d, %s", f.Name, value, code, err)
		}
	})
}
