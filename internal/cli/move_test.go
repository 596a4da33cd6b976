package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/peer"
)

// command runs a command line in this process.
func command(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestStoreMove(t *testing.T) {
	dir, url := filepath.Join(t.TempDir(), "a data dir"), peer.StartPostgres(t, peer.PostgresOptions{Careless: true}).NewDatabase(t)
	key, err := operate.CreateKey(t.Context(), installation.Settings{DataDir: dir}, operate.NewKey{Preset: "all", Init: true})
	if err != nil || key == "" {
		t.Fatal(err)
	}
	code, out, log := command(t, "store", "move", "--from", dir, "--to", url)
	if code != ExitDone {
		t.Fatalf("exit code %d\n%s%s", code, out, log)
	}
	want := "chargehand serve --database-url '" + url + "' --files-url file://" + strings.ReplaceAll(filepath.Join(dir, "files"), " ", "%20") +
		" --master-key-file '" + filepath.Join(dir, "master.key") + "'\n"
	if !strings.HasSuffix(out, want) || !strings.Contains(out, "ok     database: ") || strings.Contains(out, "wrong ") {
		t.Errorf("on standard output: %s\nwant at the end: %s", out, want)
	}
	for _, line := range []string{"copy api_key", "compare api_key", "1 of 1 (100 %)", "are the same on both sides", "were left where they are"} {
		if !strings.Contains(log, line) {
			t.Errorf("nothing says %q:\n%s", line, log)
		}
	}
	if code, _, log := command(t, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0"); code != ExitFailed || !strings.Contains(log, "--undo") {
		t.Errorf("serving what was moved: exit code %d, %s", code, log)
	}
	if code, _, log := command(t, "store", "move", "--from", dir, "--undo"); code != ExitDone || !strings.Contains(log, "executions would be carried out twice") {
		t.Errorf("undoing: exit code %d, %s", code, log)
	}
}

func TestStoreMoveUsage(t *testing.T) {
	for args, want := range map[string]string{
		"store move":                                 "--from is missing",
		"store move --undo":                          "--from is missing",
		"store move --from nowhere":                  "--to is missing",
		"store move --from nowhere --to mysql://h/d": "postgres://",
		"store move extra":                           `"extra" is not expected`,
		"store mode":                                 "no command",
		"store move --from x --to postgres://h/d --to-files x": "--to-files",
	} {
		code, _, err := command(t, strings.Fields(args)...)
		if code != ExitUsage || !strings.Contains(err, want) {
			t.Errorf("%s: exit code %d, %s", args, code, err)
		}
	}
}

func TestQuoteShell(t *testing.T) {
	for text, want := range map[string]string{
		"--files-url": "--files-url", "s3://b?region=x": "'s3://b?region=x'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'",
	} {
		if got := quoteShell(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
