package blackbox_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/s3client"
	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/store"
)

// TestEncryptAll gives a server data of every kind, and looks for it wherever the server keeps things.
func TestEncryptAll(t *testing.T) {
	t.Parallel()
	t.Run("everything", func(t *testing.T) {
		// It refuses what is not encrypted, so all that is written is, and read.
		s := servertest.Start(t, servertest.Options{Args: []string{"--encrypt", "only"}})
		marker := unique("encrypted")
		giveEverything(t, s, marker)
		noTrace(t, s, marker)
		s.Stop()
		noTrace(t, s, marker)
	})
	t.Run("what is not encrypted", testEncryptOnly)
	t.Run("only secrets", func(t *testing.T) { // the search finds what is not encrypted
		s := servertest.Start(t, servertest.Options{})
		marker := unique("clear")
		giveEverything(t, s, marker)
		for _, kind := range []string{"input", "output", "event", "item", "file", "fault", "large"} {
			if len(traces(t, s, marker+"-"+kind)) == 0 {
				t.Errorf("no trace of the %s", kind)
			}
		}
	})
	t.Run("switched on and off", testEncryptSwitched)
	t.Run("settings", func(t *testing.T) {
		for _, args := range [][]string{{"--encrypt", "some"}, {"--encrypt", "only", "--files-redirect", "--files-url", "s3://bucket"}, {"--encrypt", "all", "--files-redirect", "--files-url", "s3://bucket"}} {
			got := cli(t, nil, 2, append([]string{"serve", "--data-dir", t.TempDir()}, args...)...)
			if !strings.Contains(got.err, "--encrypt") {
				t.Errorf("%v: %s", args, got.err)
			}
		}
	})
}

// TestEncryptInS3 is TestEncryptAll for files in a bucket, with its backup and the doctor.
func TestEncryptInS3(t *testing.T) {
	t.Parallel()
	servertest.Only(t, servertest.SQLite)
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	s := servertest.Start(t, servertest.Options{Args: []string{"--encrypt", "all", "--files-url", b.URL()}, Env: b.Env()})
	marker := unique("encrypted")
	file := giveEverything(t, s, marker)
	noTrace(t, s, marker)
	for _, key := range keys(t, server, b) {
		o, err := s3client.New(server).GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(o.Body)
		o.Body.Close()
		if err != nil || bytes.Contains(data, []byte(marker)) || strings.Contains(strings.ReplaceAll(key, "/", ""), text(file["sha256"])[:16]) {
			t.Errorf("the object %s shows what it is (%v)", key, err)
		}
	}
	a := plain(t, s, "GET", text(file["url"]), "Range", "bytes=70000-70009")
	if a.Status != 206 || len(a.Body) != 10 {
		t.Errorf("a range: %d, %d bytes", a.Status, len(a.Body))
	}
}

// giveEverything leaves marker, with the name of the kind behind it, in all that users give and executions make. It
// returns the file.
func giveEverything(t *testing.T, s *server, marker string) object {
	t.Helper()
	mark := func(kind string) string { return marker + "-" + kind }
	content := strings.Repeat(mark("file")+" ", 10_000)
	file := upload(t, s, "f.txt", "text/plain", content)
	e := ends(t, s, deploy(t, s, echo), `{"small":"`+mark("input")+`","picture":`+reference(file)+`}`)
	if got := download(t, s, list(e["results"])[0]); string(got) != content {
		t.Errorf("the result has %d bytes, want %d", len(got), len(content))
	}
	ends(t, s, deploy(t, s, echo), `{"n":"`+strings.Repeat(mark("input")+" ", 100)+`"}`)
	ends(t, s, deploy(t, s, "do:\n- a: {set: {made: '${ .n + \"-output\" }'}}\n"), `{"n":"`+marker+`"}`)
	big := ends(t, s, deploy(t, s, "do:\n- a: {set: {made: '${ .n + (\"-large\" * 40000) }'}}\n"), `{"n":"`+marker+`"}`)
	if got := text(fields(big["output"])["made"]); len(got) != len(marker)+240_000 {
		t.Errorf("the large output has %d bytes", len(got))
	}
	bad := deploy(t, s, "do:\n- a: {raise: {error: {type: 'https://example.com/e', status: 400, title: '${ .n + \"-fault\" }', detail: '${ .n + \"-fault\" }'}}}\n")
	if e := finish(t, s, begin(t, s, bad, `{"n":"`+marker+`"}`)); e["status"] != "error" {
		t.Errorf("an execution that raises an error is %v", e["status"])
	}
	// What waits: its state, its journal, its subscription, and an event that it does not want.
	waits := deploy(t, s, "do:\n- a: {set: {kept: '${ . }'}}\n- b: {listen: {to: {one: {with: {type: never, data: '${ .order == $input.n }'}}}}}\n")
	wait := begin(t, s, waits, `{"n":"`+mark("waits")+`"}`)
	await(t, s, wait, "processing")
	a := s.Do(t, "POST", "/events", `{"specversion":"1.0","id":"`+unique("id")+`","source":"/x","type":"org.mark","data":{"x":"`+mark("event")+`"}}`,
		"Content-Type", "application/cloudevents+json")
	if a.Status/100 != 2 {
		t.Fatalf("event: %d %s", a.Status, a.Body)
	}
	ends(t, s, deploy(t, s, "do:\n- a: {emit: {event: {with: {type: org.mark.emitted, source: 'https://example.com', data: {x: '${ .n }'}}}}}\n"), `{"n":"`+mark("emitted")+`"}`)
	wantStatus(t, s.Do(t, "POST", executions(waits), `{"input":{"n":"`+mark("key")+`"}}`, "Idempotency-Key", unique("key")), 201)
	// Items that end, and items that wait and are cancelled for a reason.
	wantStatus(t, s.Do(t, "POST", batches(deploy(t, s, echo))+"?wait=60s", `{"items":[{"n":"`+mark("item")+`"},{"n":"`+mark("item")+`"}]}`), 202)
	a = s.Do(t, "POST", batches(waits), `{"items":[{"n":"`+mark("item")+`"},{"n":"`+mark("item")+`"},{"n":"`+mark("item")+`"}],"concurrency":1}`)
	wantStatus(t, a, 202)
	wantStatus(t, s.Do(t, "POST", batches(waits)+"/"+text(a.Object()["batch_id"])+"/cancel", `{"reason":"`+mark("reason")+`"}`), 202)
	// A step that writes into its log.
	ends(t, s, deploy(t, s, "do:\n- a: {run: {script: {language: js, code: 'console.log(n); console.error(n); return 1;', arguments: {n: '${ .n }'}}}}\n"), `{"n":"`+mark("log")+`"}`)
	return file
}

func noTrace(t *testing.T, s *server, marker string) {
	t.Helper()
	for _, trace := range traces(t, s, marker) {
		t.Errorf("%s holds what is to be encrypted", trace)
	}
}

// traces says where text is found, as it is or in the usual encodings.
func traces(t *testing.T, s *server, text string) (found []string) {
	t.Helper()
	folders, database := servertest.Stored(t, s.DataDir)
	forms := [][]byte{[]byte(text), []byte(hex.EncodeToString([]byte(text)))}
	for shift := range 3 { // base64, wherever the text begins in it
		encoded := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:shift] + text))
		forms = append(forms, []byte(encoded[4:len(encoded)-2]))
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			for _, form := range forms {
				if at := bytes.Index(data, form); at >= 0 {
					found = append(found, fmt.Sprintf("%s (%.80q)", path, data[max(0, at-30):min(len(data), at+50)]))
					break
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if database != "" {
		found = append(found, tableTraces(t, database, forms)...)
	}
	return found
}

// tableTraces is traces in the rows of a PostgreSQL database.
func tableTraces(t *testing.T, database string, forms [][]byte) (found []string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	rows, err := c.Query(t.Context(), `SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("tables %v: %v", tables, err)
	}
	for _, table := range tables {
		for _, form := range forms[:2] { // the second is what columns of bytes are shown as
			var n int
			if err := c.QueryRow(t.Context(), `SELECT COUNT(*) FROM `+table+` r WHERE position($1 in r::text) > 0`, string(form)).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				found = append(found, fmt.Sprintf("%d rows of table %s", n, table))
			}
		}
	}
	return found
}

// testEncryptOnly: a clear value in the place of an encrypted one is refused, doctor names the row, and a server that
// finds one when it starts says so.
func testEncryptOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil { // as doctor wants it
		t.Fatal(err)
	}
	options := servertest.Options{DataDir: dir, Args: []string{"--encrypt", "only"}}
	s := servertest.Start(t, options)
	flow := deploy(t, s, echo)
	path, other := begin(t, s, flow, `{"n":1}`), begin(t, s, flow, `{"n":2}`)
	finish(t, s, path)
	finish(t, s, other)
	doctor := func(code int) said {
		t.Helper()
		return cli(t, s, code, append(append([]string{"doctor", "--encrypt", "only"}, at(s)...), servertest.Location(t, dir)...)...)
	}
	if got := doctor(0); !strings.Contains(got.out, "encryption: ") {
		t.Errorf("doctor says %s", got.out)
	}
	var id chargehand.ExecutionID
	if err := id.UnmarshalText([]byte(path[strings.LastIndex(path, "/")+1:])); err != nil {
		t.Fatal(err)
	}
	db := databaseOf(t, s)
	err := db.Update(t.Context(), func(c store.Conn) error {
		n, err := c.Exec(`UPDATE outcome SET output = ?1 WHERE execution = (SELECT no FROM execution WHERE id = ?2)`, []byte(`{"n":"forged"}`), id[:])
		if err == nil && n != 1 {
			err = fmt.Errorf("%d rows were changed", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	if a := s.Do(t, "GET", path, ""); a.Status != 500 {
		t.Errorf("what was put there is answered with %d %s", a.Status, a.Body)
	}
	if e := finish(t, s, other); !equal(fields(e["output"])["n"], parse(t, "2")) {
		t.Errorf("the other one is %v", e["output"])
	}
	if got := doctor(1); !strings.Contains(got.out, "the output of an execution is not encrypted: execution "+id.String()) {
		t.Errorf("doctor says %s", got.out)
	}
	s.Stop()
	if !strings.Contains(s.Log(), "open the output of an execution in row ") {
		t.Error("the log does not say what was refused")
	}
	got := cli(t, nil, 2, append([]string{"serve", "--encrypt", "only", "--data-dir", dir, "--listen", "127.0.0.1:0"}, servertest.Location(t, dir)...)...)
	if !strings.Contains(got.err, "1 of the newest 2 results") || !strings.Contains(got.err, "chargehand doctor --encrypt only") {
		t.Errorf("it starts, or says %s", got.err)
	}
	options.Args = []string{"--encrypt", "all"}
	s = servertest.Start(t, options)
	if e := finish(t, s, path); !equal(fields(e["output"])["n"], "forged") {
		t.Errorf("with --encrypt all, where both kinds are read, it is %v", e["output"])
	}
}

// testEncryptSwitched: what was written before stays readable whichever way it is switched, also under another data
// key.
func testEncryptSwitched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil { // as doctor wants it
		t.Fatal(err)
	}
	var paths []string
	var files []object
	for i, args := range [][]string{nil, {"--encrypt", "all"}, nil, {"--encrypt", "all"}} {
		s := servertest.Start(t, servertest.Options{DataDir: dir, Args: args})
		flow := deploy(t, s, echo)
		path := begin(t, s, flow, fmt.Sprintf(`{"n":%d}`, i))
		finish(t, s, path)
		paths = append(paths, path)
		files = append(files, upload(t, s, "same.txt", "text/plain", "the same content"))
		for n, path := range paths {
			if e := finish(t, s, path); !equal(fields(e["output"])["n"], parse(t, fmt.Sprint(n))) {
				t.Errorf("round %d: the output of execution %d is %v", i, n, e["output"])
			}
		}
		for _, file := range files {
			a := s.Do(t, "GET", "/files/"+text(file["id"])+"/content", "")
			if a.Status != 200 || string(a.Body) != "the same content" {
				t.Errorf("round %d: file %d %.100q", i, a.Status, a.Body)
			}
		}
		if i == 1 {
			cli(t, s, 0, append(at(s, "secrets", "rotate-master-key", "--data-key"), servertest.Location(t, dir)...)...)
		}
		if servertest.Setup(t) == servertest.SQLite {
			if got := cli(t, s, 0, at(s, "doctor", "--deep")...); !strings.Contains(got.out, fmt.Sprintf("%d of %d contents are sealed", min(i, 1), min(i, 1)+1)) {
				t.Errorf("round %d: %s", i, got.out)
			}
		}
		s.Stop()
	}
}
