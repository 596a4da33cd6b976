package operate_test

import (
	"fmt"
	"os"
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

// install serves a new installation.
func install(t *testing.T, dir string) *apptest.Installation {
	t.Helper()
	return installWith(t, installation.Settings{DataDir: dir})
}

func installWith(t *testing.T, settings installation.Settings) *apptest.Installation {
	t.Helper()
	key, err := operate.CreateKey(t.Context(), settings, operate.NewKey{Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Config{Settings: settings, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	return apptest.Serve(t, a, settings.DataDir, key)
}

func TestBackupIsRestoredWithItsFilesAndWhatRuns(t *testing.T) {
	dir := t.TempDir()
	first := install(t, filepath.Join(dir, "data"))
	done := first.Apply(apptest.Definition("done", "{set: {text: ok}}"))
	sleeper := first.Apply(apptest.Definition("sleeper", "{wait: {seconds: 1}}"))
	_, file := first.Ask("POST", "/files?filename=a.txt", "text/plain", "content of a file")
	// An input above the inline limit is a content of the blob store.
	large := fmt.Sprintf(`{"input":{"large":%q}}`, strings.Repeat("x", 200<<10))
	_, e := first.Ask("POST", "/workflows/"+done+"/executions?wait=10s", "application/json", large)
	if e["status"] != "finished" {
		t.Fatalf("execution %v", e)
	}
	_, waiting := first.Ask("POST", "/workflows/"+sleeper+"/executions", "application/json", "{}")

	copied := filepath.Join(dir, "copy")
	report, err := operate.Backup(t.Context(), installation.Settings{DataDir: first.Dir}, copied)
	if err != nil || report.Files < 2 || report.Bytes < 200<<10 {
		t.Fatalf("backup: %+v, %v", report, err)
	}
	if _, err := operate.Backup(t.Context(), installation.Settings{DataDir: first.Dir}, copied); err == nil {
		t.Error("a second backup into the same folder is accepted")
	}
	first.Halt()

	again := filepath.Join(dir, "again")
	if _, err := operate.Restore(t.Context(), copied, again); err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Restore(t.Context(), copied, again); err == nil {
		t.Error("an installation is overwritten")
	}
	for _, f := range operate.Doctor(t.Context(), installation.Settings{DataDir: again}, operate.Checks{Deep: true}) {
		if !f.OK {
			t.Errorf("doctor: %+v", f)
		}
	}
	second := install(t, again)
	second.Key = first.Key
	if _, got := second.Ask("GET", "/workflows/"+done+"/executions/"+e["id"].(string), "", ""); got["status"] != "finished" {
		t.Errorf("the finished execution is %v", got)
	}
	if status, raw := second.Fetch("GET", second.Base+"/files/"+file["id"].(string)+"/content", "", ""); status != 200 || string(raw) != "content of a file" {
		t.Errorf("the file is %d %q", status, raw)
	}
	path := "/workflows/" + sleeper + "/executions/" + waiting["id"].(string) + "?wait=20s"
	if _, got := second.Ask("GET", path, "", ""); got["status"] != "finished" {
		t.Errorf("the waiting execution is %v", got)
	}
}

// TestADamagedFileIsLeftOutOfABackup: the backup fails and names it, and has all else.
func TestADamagedFileIsLeftOutOfABackup(t *testing.T) {
	for _, encrypt := range []string{installation.EncryptSecrets, installation.EncryptAll} {
		t.Run(encrypt, func(t *testing.T) {
			dir := t.TempDir()
			settings := installation.Settings{DataDir: filepath.Join(dir, "data"), Encrypt: encrypt}
			i := installWith(t, settings)
			i.Ask("POST", "/files?filename=rotten.txt", "text/plain", "the content")
			blobtest.Flip(t, blobtest.OnlyContent(t, filepath.Join(settings.DataDir, installation.FilesName)))
			i.Ask("POST", "/files?filename=good.txt", "text/plain", "another content")
			copied := filepath.Join(dir, "copy")
			if _, err := operate.Backup(t.Context(), settings, copied); err == nil || !strings.Contains(err.Error(), `"rotten.txt"`) {
				t.Errorf("backup of a damaged file: %v", err)
			}
			if made := backups(t, settings); !strings.Contains(made, "none was made") {
				t.Errorf("it counts as the last backup: %s", made)
			}
			report, err := operate.Restore(t.Context(), copied, filepath.Join(dir, "again"))
			if err != nil || report.Files != 1 {
				t.Errorf("restored: %+v, %v", report, err)
			}
		})
	}
}

// TestAnUnreadableFileIsLeftOut of a backup, and of what is restored of one, as a damaged one is.
func TestAnUnreadableFileIsLeftOut(t *testing.T) {
	for _, encrypt := range []string{installation.EncryptSecrets, installation.EncryptAll} {
		t.Run(encrypt, func(t *testing.T) {
			dir := t.TempDir()
			settings := installation.Settings{DataDir: filepath.Join(dir, "data"), Encrypt: encrypt}
			i := installWith(t, settings)
			i.Ask("POST", "/files?filename=lost.txt", "text/plain", "the content")
			blobtest.Block(t, blobtest.OnlyContent(t, filepath.Join(settings.DataDir, installation.FilesName)))
			i.Ask("POST", "/files?filename=good.txt", "text/plain", "another content")
			copied := filepath.Join(dir, "copy")
			_, err := operate.Backup(t.Context(), settings, copied)
			if err == nil || !strings.Contains(err.Error(), `"lost.txt"`) || !strings.Contains(err.Error(), syscall.ELOOP.Error()) {
				t.Errorf("backup without a file that cannot be read: %v", err)
			}
			if made := backups(t, settings); !strings.Contains(made, "none was made") {
				t.Errorf("it counts as the last backup: %s", made)
			}
			report, err := operate.Restore(t.Context(), copied, filepath.Join(dir, "again"))
			if err != nil || report.Files != 1 || report.Unread != nil {
				t.Errorf("restored: %+v, %v", report, err)
			}
			blobtest.Block(t, blobtest.OnlyContent(t, filepath.Join(copied, installation.FilesName)))
			report, err = operate.Restore(t.Context(), copied, filepath.Join(dir, "poor"))
			if err != nil || report.Files != 0 || report.Unread == nil {
				t.Errorf("restored from what cannot be read: %+v, %v", report, err)
			}
		})
	}
}

// TestWhatNothingRefersToIsNoLoss: that it cannot be read keeps no backup from being one.
func TestWhatNothingRefersToIsNoLoss(t *testing.T) {
	dir := t.TempDir()
	i := install(t, filepath.Join(dir, "data"))
	i.Ask("POST", "/files?filename=a.txt", "text/plain", "the content")
	content := blobtest.OnlyContent(t, filepath.Join(i.Dir, installation.FilesName))
	stray := filepath.Join(filepath.Dir(content), strings.Repeat("e", len(filepath.Base(content))))
	if err := os.Link(content, stray); err != nil {
		t.Fatal(err)
	}
	blobtest.Block(t, stray)
	report, err := operate.Backup(t.Context(), installation.Settings{DataDir: i.Dir}, filepath.Join(dir, "copy"))
	if err != nil || report.Files != 1 || report.Unread == nil {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestWhatIsEncryptedIsNoBackupWithoutItsKeys: with the master key of another installation all is copied, and could not
// be checked or read.
func TestWhatIsEncryptedIsNoBackupWithoutItsKeys(t *testing.T) {
	dir := t.TempDir()
	settings := installation.Settings{DataDir: filepath.Join(dir, "data"), Encrypt: installation.EncryptAll}
	i := installWith(t, settings)
	i.Ask("POST", "/files?filename=a.txt", "text/plain", "the content")
	other := settings
	other.MasterKeyFile = apptest.MasterFile(t)
	report, err := operate.Backup(t.Context(), other, filepath.Join(dir, "copy"))
	if err == nil || !strings.Contains(err.Error(), "not checked") || !strings.Contains(err.Error(), "master key") || report.Files != 1 {
		t.Errorf("backup with another master key: %+v, %v", report, err)
	}
	if made := backups(t, settings); !strings.Contains(made, "none was made") {
		t.Errorf("it counts as the last backup: %s", made)
	}
}

// TestACutOffBackupIsNone: without its database nothing can be restored, and that comes last.
func TestACutOffBackupIsNone(t *testing.T) {
	dir := t.TempDir()
	i := install(t, filepath.Join(dir, "data"))
	copied := filepath.Join(dir, "copy")
	if _, err := operate.Backup(t.Context(), installation.Settings{DataDir: i.Dir}, copied); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(copied, installation.DatabaseName)
	if err := os.Rename(database, database+".unfinished"); err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Restore(t.Context(), copied, filepath.Join(dir, "again")); err == nil {
		t.Error("a backup that was cut off is restored")
	}
}

// TestABackupWithoutAllItsFilesFails: every content that the database refers to must have been where Backup looked.
// What was there is kept all the same.
func TestABackupWithoutAllItsFilesFails(t *testing.T) {
	dir := t.TempDir()
	settings := installation.Settings{DataDir: filepath.Join(dir, "data"), FilesURL: "file://" + filepath.Join(dir, "elsewhere")}
	i := installWith(t, settings)
	for n := range 5 {
		if status, answer := i.Ask("POST", fmt.Sprintf("/files?filename=%d.txt", n), "text/plain", fmt.Sprint("content ", n)); status != 201 {
			t.Fatalf("upload: %d %v", status, answer)
		}
	}
	poor := filepath.Join(dir, "poor")
	_, err := operate.Backup(t.Context(), installation.Settings{DataDir: settings.DataDir}, poor)
	if err == nil || !strings.Contains(err.Error(), "and 2 more") || !strings.Contains(err.Error(), "--files-url") || !strings.Contains(err.Error(), `.txt"`) {
		t.Errorf("without the setting of the server: %v", err)
	}
	if _, err := operate.Restore(t.Context(), poor, filepath.Join(dir, "restored")); err != nil {
		t.Errorf("the database alone is not restored: %v", err)
	}
	if made := backups(t, settings); !strings.Contains(made, "none was made") {
		t.Errorf("what lacks its files counts as the last backup: %s", made)
	}
	report, err := operate.Backup(t.Context(), settings, filepath.Join(dir, "copy"))
	if err != nil || report.Files != 5 {
		t.Errorf("with the setting of the server: %+v, %v", report, err)
	}
	if made := backups(t, settings); !strings.Contains(made, "the last one") {
		t.Errorf("nothing is known of the backup: %s", made)
	}

	// Lost where the server has its files, they are not looked for elsewhere.
	if err := os.RemoveAll(filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Backup(t.Context(), settings, filepath.Join(dir, "late")); err == nil || strings.Contains(err.Error(), "--files-url") {
		t.Errorf("files that are lost: %v", err)
	}
}

// backups is what doctor says of the backups that were made.
func backups(t *testing.T, settings installation.Settings) string {
	t.Helper()
	for _, f := range operate.Doctor(t.Context(), settings, operate.Checks{}) {
		if f.What == "backups" {
			return f.Detail
		}
	}
	t.Fatal("doctor says nothing of backups")
	return ""
}
