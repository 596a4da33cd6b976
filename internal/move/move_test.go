package move

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/peer"
)

// filled is an installation with something of every kind, and what it answers.
type filled struct {
	key, second string // API keys
	flow        string // a workflow whose executions are done
	slow        string // one whose executions wait
	waiting     []string
	batch       string
	upload      string
	answers     map[string]string // of what does not change any more, by path
	link        string            // a signed link to the upload, without the address of the server
	idempotent  string            // answer to a start with an idempotency key
}

const (
	largeText    = 200 << 10 // more than is kept in a row
	slowItems    = 8
	idempotency  = "move-once"
	uploadedText = "content of an upload"
)

// fixture is an installation that is served.
type fixture struct{ *apptest.Installation }

func install(t *testing.T, dir string, change ...func(*installation.Settings)) *fixture {
	t.Helper()
	settings := installation.Settings{DataDir: dir}
	for _, c := range change {
		c(&settings)
	}
	key, err := operate.CreateKey(t.Context(), settings, operate.NewKey{Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Config{Settings: settings, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{apptest.Serve(t, a, dir, key)}
}

// fill puts something of every kind into an installation, and halts it while a batch and some
// executions are under way.
func fill(t *testing.T, dir string) *filled {
	t.Helper()
	i := install(t, dir)
	w := &filled{key: i.Key, answers: map[string]string{}}
	w.flow = i.Apply("document: {dsl: '1.0.3', namespace: default, name: done, version: '1.0.0'}\ndo:\n  - copy: {set: '${ . }'}\n  - check: {if: '${ .bad == true }', raise: {error: {type: 'https://example.com/bad', status: 400, title: bad}}}\n")
	w.slow = i.Apply(apptest.Definition("slow", "{wait: {milliseconds: 700}}"))
	_, key := i.Ask("POST", "/api-keys", "application/json", `{"name":"second","preset":"observe"}`)
	w.second = fmt.Sprint(key["key"])
	if !strings.Contains(w.second, "_") {
		t.Fatalf("a second key: %v", key)
	}
	_, file := i.Ask("POST", "/files?filename=a.txt", "text/plain", uploadedText)
	w.upload = file["id"].(string)
	w.link = strings.TrimPrefix(file["url"].(string), i.Base)
	start := func(input string) {
		status, e := i.Ask("POST", "/workflows/"+w.flow+"/executions?wait=10s", "application/json", input)
		if status != 201 && status != 200 {
			t.Fatalf("start: %d %v", status, e)
		}
	}
	start(`{"input":{"n":1}}`)
	start(`{"input":{"bad":true}}`)
	start(fmt.Sprintf(`{"input":{"large":%q}}`, strings.Repeat("x", largeText)))
	start(fmt.Sprintf(`{"input":{"medium":%q}}`, strings.Repeat("y", 20<<10)))
	start(`{"input":{"nul":"a\u0000b"}}`)
	w.idempotent = i.idempotentStart(w.flow)
	status, batch := i.Ask("POST", "/workflows/"+w.flow+"/batch?wait=10s", "application/json", `{"items":[{"n":1},{"bad":true},{"n":3}],"concurrency":2}`)
	if status >= 300 {
		t.Fatalf("batch: %d %v", status, batch)
	}
	done := fmt.Sprint(batch["batch_id"])
	for range 3 {
		_, e := i.Ask("POST", "/workflows/"+w.slow+"/executions", "application/json", "{}")
		w.waiting = append(w.waiting, e["id"].(string))
	}
	items := strings.TrimSuffix(strings.Repeat(`{},`, slowItems), ",")
	_, batch = i.Ask("POST", "/workflows/"+w.slow+"/batch", "application/json", `{"items":[`+items+`],"concurrency":2}`)
	w.batch = fmt.Sprint(batch["batch_id"])
	apptest.Await(t, func() bool {
		_, b := i.Ask("GET", "/workflows/"+w.slow+"/batch/"+w.batch, "", "")
		return b["completed"].(float64) >= 2
	})
	w.collect(i, done)
	i.Halt()
	return w
}

// idempotentStart starts an execution that is the same however often it is asked for.
func (i *fixture) idempotentStart(flow string) string {
	i.T.Helper()
	r, err := http.NewRequestWithContext(i.T.Context(), "POST", i.Base+"/workflows/"+flow+"/executions", strings.NewReader(`{"input":{"n":7}}`))
	if err != nil {
		i.T.Fatal(err)
	}
	r.Header.Set("x-api-key", i.Key)
	r.Header.Set("Idempotency-Key", idempotency)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		i.T.Fatal(err)
	}
	defer resp.Body.Close()
	var e struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || e.ID == "" {
		i.T.Fatalf("start: %d %v", resp.StatusCode, err)
	}
	return e.ID
}

// collect keeps the answers that must be the same after the move.
func (w *filled) collect(i *fixture, batch string) {
	paths := []string{
		"/workflows", "/workflows/" + w.flow, "/workflows/" + w.flow + "/versions", "/workflows/" + w.flow + "/batch",
		"/workflows/" + w.flow + "/batch/" + batch, "/workflows/" + w.flow + "/batch/" + batch + "/items",
		"/workflows/" + w.flow + "/executions?limit=100", "/files/" + w.upload, "/files/" + w.upload + "/content",
	}
	apptest.Await(i.T, func() bool { // the one that no client waited for
		_, list := i.Ask("GET", "/workflows/"+w.flow+"/executions?status=running&status=queued", "", "")
		data, _ := list["data"].([]any)
		return len(data) == 0
	})
	_, list := i.Ask("GET", "/workflows/"+w.flow+"/executions?limit=100", "", "")
	for _, e := range list["data"].([]any) {
		id := e.(map[string]any)["id"].(string)
		paths = append(paths, "/workflows/"+w.flow+"/executions/"+id, "/workflows/"+w.flow+"/executions/"+id+"/timeline")
	}
	for _, path := range paths {
		w.answers[path] = i.answer(path)
	}
}

// answer is the status and body for a path, without the address of the server and signatures.
func (i *fixture) answer(path string) string {
	i.T.Helper()
	status, raw := i.Fetch("GET", i.Base+path, "", "")
	text := strings.ReplaceAll(string(raw), strings.TrimSuffix(i.Base, "/api/v1"), "BASE")
	return fmt.Sprint(status, " ", signature.ReplaceAllString(text, ""))
}

// signature is what differs in a link from second to second.
var signature = regexp.MustCompile(`\?expires=[0-9]+&signature=[A-Za-z0-9_-]+|"expires_at":"[^"]*"`)

// check holds an installation to what the one before answered.
func (w *filled) check(t *testing.T, i *fixture) {
	t.Helper()
	i.Key = w.key
	for path, before := range w.answers {
		if after := i.answer(path); after != before {
			t.Errorf("GET %s\nafter:  %.2000s\nbefore: %.2000s", path, after, before)
		}
	}
	if again := i.idempotentStart(w.flow); again != w.idempotent {
		t.Errorf("the same request started %s, before %s", again, w.idempotent)
	}
	for _, id := range w.waiting {
		if _, e := i.Ask("GET", "/workflows/"+w.slow+"/executions/"+id+"?wait=20s", "", ""); e["status"] != "finished" {
			t.Errorf("a waiting execution is %v", e)
		}
	}
	apptest.Await(t, func() bool {
		_, b := i.Ask("GET", "/workflows/"+w.slow+"/batch/"+w.batch, "", "")
		return b["status"] == "completed" && b["completed"].(float64) == slowItems
	})
	_, fresh := i.Ask("POST", "/workflows/"+w.flow+"/executions?wait=10s", "application/json", `{"input":{"n":2}}`)
	if fresh["status"] != "finished" {
		t.Errorf("a new execution is %v", fresh)
	}
	i.Key = w.second
	if status, answer := i.Ask("GET", "/workflows", "", ""); status != 200 {
		t.Errorf("with the second key: %d %v", status, answer)
	}
	i.Key = "ch_live_nobody"
	resp, err := http.Get(i.Base + w.link) // without any key
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if raw, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || string(raw) != uploadedText {
		t.Errorf("a link of before: %d %q %v", resp.StatusCode, raw, err)
	}
	if status, _ := i.Ask("GET", "/workflows", "", ""); status != 401 {
		t.Errorf("with no key: %d", status)
	}
}

func wantWell(t *testing.T, r Report) {
	t.Helper()
	if len(r.Findings) < 4 {
		t.Errorf("findings of the doctor: %+v", r.Findings)
	}
	for _, f := range r.Findings {
		if !f.OK {
			t.Errorf("doctor: %+v", f)
		}
	}
}

// TestMove takes an installation to PostgreSQL and S3, cut off after every page and content, and
// serves it there.
func TestMove(t *testing.T) {
	server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
	t.Run("files stay", func(t *testing.T) { testMoveLeavesFiles(t, server) })
	t.Run("S3", func(t *testing.T) { testMoveToS3(t, server) })
}

func testMoveToS3(t *testing.T, server *peer.Postgres) {
	bucket := peer.StartS3(t).NewBucket(t)
	bucket.Setenv(t)
	dir, url := filepath.Join(t.TempDir(), "data"), server.NewDatabase(t)
	w := fill(t, dir)
	key := filepath.Join(t.TempDir(), "new.key")
	nowhere := Request{From: dir, To: url, ToFilesURL: strings.Replace(bucket.URL(), bucket.Name, "no-such-bucket", 1), MasterKeyFile: key}
	if _, err := Run(t.Context(), nowhere); err == nil || !strings.Contains(err.Error(), "--to-files") || len(targetRows(t, url)) != 0 {
		t.Errorf("to a bucket that is not there: %v", err)
	}
	cut := errors.New("cut off")
	what := Request{From: dir, To: url, ToFilesURL: bucket.URL("prefix", "moved"), MasterKeyFile: key, pageRows: 2}
	// Often cut off at the next transaction: TestMoveRows does so at each. A server process
	// would have to be killed at the same moments.
	for n := 1; ; n += 3 {
		left := n
		what.written = func() error {
			if left--; left == 0 {
				return cut
			}
			return nil
		}
		report, err := Run(t.Context(), what)
		if err == nil {
			wantWell(t, report)
			if report.Files < 2 || report.FileBytes < largeText || report.FilesLeft {
				t.Errorf("the report says %d files, %d bytes", report.Files, report.FileBytes)
			}
			break
		}
		if !errors.Is(err, cut) {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new master key: %v, %v", info, err)
	}
	if got := refusal(t, installation.Settings{DataDir: dir}); !strings.Contains(got, "was moved to") {
		t.Errorf("serving the source: %q", got)
	}
	if err := os.RemoveAll(dir); err != nil { // nothing of it is needed any more
		t.Fatal(err)
	}
	i := install(t, filepath.Join(t.TempDir(), "work"), func(c *installation.Settings) {
		c.DatabaseURL, c.FilesURL, c.MasterKeyFile = url, bucket.URL("prefix", "moved"), key
	})
	w.check(t, i)
}

// testMoveLeavesFiles also takes a content away before: the move must not end.
func testMoveLeavesFiles(t *testing.T, server *peer.Postgres) {
	dir, url := filepath.Join(t.TempDir(), "data"), server.NewDatabase(t)
	w := fill(t, dir)
	var digest blob.Digest
	contents, err := blob.OpenFolder(blob.Config{Folder: filepath.Join(dir, installation.FilesName)})
	if err != nil {
		t.Fatal(err)
	}
	defer contents.Close()
	err = contents.List(t.Context(), func(c blob.Content) error {
		if c.Size == int64(len(uploadedText)) {
			digest, err = contents.Digest(c.Name)
		}
		return err
	})
	if err == nil {
		err = contents.Delete(t.Context(), digest)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Request{From: dir, To: url}); err == nil || !strings.Contains(err.Error(), digest.String()) {
		t.Fatalf("without the content of a file: %v", err)
	}
	elsewhere := "file://" + filepath.Join(t.TempDir(), "files")
	if _, err := Run(t.Context(), Request{From: dir, To: url, ToFilesURL: elsewhere}); err == nil || !strings.Contains(err.Error(), digest.String()) {
		t.Fatalf("without the content of a file: %v", err)
	}
	if _, _, err := contents.Put(t.Context(), strings.NewReader(uploadedText), 1<<20); err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), Request{From: dir, To: url})
	if err != nil {
		t.Fatal(err)
	}
	wantWell(t, report)
	if !report.FilesLeft || report.Files < 2 {
		t.Errorf("report %+v", report)
	}
	want := []string{"--database-url", url, "--files-url", "file://" + filepath.Join(dir, installation.FilesName), "--master-key-file", filepath.Join(dir, installation.MasterKeyName)}
	if !slices.Equal(report.Serve, want) {
		t.Errorf("serve with %q, want %q", report.Serve, want)
	}
	i := install(t, t.TempDir(), func(c *installation.Settings) { c.DatabaseURL, c.FilesURL, c.MasterKeyFile = want[1], want[3], want[5] })
	w.check(t, i)
}
