package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/blob/blobtest"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
)

// serveWithAFile serves a new installation and uploads a.txt, of 11 bytes.
func serveWithAFile(t *testing.T, settings installation.Settings) {
	t.Helper()
	key, err := operate.CreateKey(t.Context(), settings, operate.NewKey{Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	server, err := app.New(t.Context(), app.Config{Settings: settings, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := apptest.Serve(t, server, settings.DataDir, key).Ask("POST", "/files?filename=a.txt", "text/plain", "the content"); status != 201 {
		t.Fatalf("upload: %d %v", status, answer)
	}
}

// TestRestoreReadsWhatIsEncrypted: a backup whose medium has damaged an encrypted file is not restored as a sound one.
func TestRestoreReadsWhatIsEncrypted(t *testing.T) {
	dir := t.TempDir()
	settings := installation.Settings{DataDir: filepath.Join(dir, "data"), Encrypt: installation.EncryptAll}
	serveWithAFile(t, settings)
	copied := filepath.Join(dir, "copy")
	if code, _, log := command(t, "backup", "--data-dir", settings.DataDir, copied); code != ExitDone {
		t.Fatalf("backup: exit code %d, %s", code, log)
	}
	code, out, log := command(t, "restore", "--data-dir", filepath.Join(dir, "sound"), copied)
	if code != ExitDone || !strings.Contains(out, "match their digests") {
		t.Errorf("restore: exit code %d\n%s%s", code, out, log)
	}
	blobtest.Flip(t, blobtest.OnlyContent(t, filepath.Join(copied, installation.FilesName)))
	code, out, log = command(t, "restore", "--data-dir", filepath.Join(dir, "rotten"), copied)
	if code != ExitFailed || !strings.Contains(out, `"a.txt"`) {
		t.Errorf("restore of a damaged file: exit code %d\n%s%s", code, out, log)
	}
	blobtest.Block(t, blobtest.OnlyContent(t, filepath.Join(copied, installation.FilesName)))
	code, out, log = command(t, "restore", "--data-dir", filepath.Join(dir, "poor"), copied)
	if code != ExitFailed || !strings.Contains(out, `"a.txt"`) || !strings.Contains(log, syscall.ELOOP.Error()) {
		t.Errorf("restore of a file that cannot be read: exit code %d\n%s%s", code, out, log)
	}
}
