package blackbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/value"
)

// TestContractResults holds docs/reference/api.md "Result files", the rule which files are results, and
// docs/language/files.md.
func TestContractResults(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-run", "shell")
	t.Run("output.json", func(t *testing.T) { testOutputFile(t, s) })
	t.Run("which files", func(t *testing.T) { testWhichFiles(t, s) })
	t.Run("links", func(t *testing.T) { testLinks(t, s) })
	t.Run("expired links", func(t *testing.T) { testExpiredLinks(t, s) })
	t.Run("serving", func(t *testing.T) { testServing(t, s) })
	t.Run("staging", func(t *testing.T) { testStaging(t, s) })
	t.Run("staged names", func(t *testing.T) { testStagedNames(t, s) })
	t.Run("other environment", func(t *testing.T) { testForeignReference(t, s) })
}

// download fetches a result by its address alone, and checks what the result says of it.
func download(t *testing.T, s *server, result any) []byte {
	t.Helper()
	resultShape.verify(t, "result", result)
	r := fields(result)
	a := plain(t, s, "GET", text(r["url"]))
	wantStatus(t, a, 200)
	sum := sha256.Sum256(a.Body)
	if r["size"] != len(a.Body) || r["sha256"] != hex.EncodeToString(sum[:]) || a.Header.Get("Content-Type") != r["content_type"] {
		t.Errorf("%v: has %d bytes of %s", r, len(a.Body), a.Header.Get("Content-Type"))
	}
	if left := between(t, time.Now().UTC().Format(time.RFC3339Nano), r["expires_at"]); left < 3590_000 || left > 3610_000 {
		t.Errorf("the link is valid for %d ms, want 1 h", left)
	}
	return a.Body
}

// plain asks without a key, and does not read what it gets as JSON.
func plain(t *testing.T, s *server, method, address string, headers ...string) answer {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	request := method + " " + u.RequestURI() + " HTTP/1.1\r\nHost: " + u.Host + "\r\nConnection: close\r\n"
	for i := 0; i+1 < len(headers); i += 2 {
		request += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	return raw(t, s, request+"\r\n")
}

// ends runs a workflow and returns the finished execution.
func ends(t *testing.T, s *server, flow, input string) object {
	t.Helper()
	e := finish(t, s, begin(t, s, flow, input))
	if e["status"] != "finished" {
		t.Fatalf("%s", value.Marshal(e))
	}
	return e
}

// upload stores a file and returns its description.
func upload(t *testing.T, s *server, name, media, content string) object {
	t.Helper()
	a := s.Do(t, "POST", "/files?filename="+url.QueryEscape(name), content, "Content-Type", media)
	wantStatus(t, a, 201)
	return a.Object()
}

func reference(file object) string { return string(value.Marshal(file["reference"])) }

// testOutputFile: without any file the final output itself, never an empty list.
func testOutputFile(t *testing.T, s *server) {
	for _, output := range []string{`{"a":[1,2.0,"x"]}`, `{}`, `null`, `0`, `""`, `[]`, `"text"`, `false`} {
		flow := deploy(t, s, "output: {as: '${ .v }'}\n"+echo)
		e := ends(t, s, flow, `{"v":`+output+`}`)
		results := list(e["results"])
		if len(results) != 1 || fields(results[0])["filename"] != "output.json" || fields(results[0])["content_type"] != "application/json" {
			t.Fatalf("output %s: %s", output, value.Marshal(e["results"]))
		}
		if got := string(download(t, s, results[0])); got != output || !equal(e["output"], parse(t, output)) {
			t.Errorf("output %s: the file holds %s, the answer %s", output, got, value.Marshal(e["output"]))
		}
	}
	big := strings.Repeat("0123456789", 60_000) // beyond what stays in the row
	e := ends(t, s, deploy(t, s, echo), `{"v":"`+big+`"}`)
	if got := string(download(t, s, list(e["results"])[0])); got != `{"v":"`+big+`"}` {
		t.Errorf("a large output came back as %.50s… (%d bytes)", got, len(got))
	}
}

// testWhichFiles: references in the output, in document order; else the files of the last
// top-level task that produced some.
func testWhichFiles(t *testing.T, s *server) {
	one, two := upload(t, s, "one.txt", "text/plain", "1"), upload(t, s, "two.txt", "text/plain", "22")
	e := ends(t, s, deploy(t, s, "do:\n- out: {set: {z: '${ .b }', list: ['${ .a }', 5], text: no file}}\n"), `{"a":`+reference(one)+`,"b":`+reference(two)+`}`)
	names := func(e object) (names []string) {
		for _, r := range list(e["results"]) {
			names = append(names, text(fields(r)["filename"]))
		}
		return names
	}
	if got := names(e); len(got) != 2 || got[0]+got[1] != "one.txttwo.txt" && got[0]+got[1] != "two.txtone.txt" {
		t.Fatalf("results %v", got)
	}
	for _, r := range list(e["results"]) {
		if content := string(download(t, s, r)); len(content) != map[string]int{"one.txt": 1, "two.txt": 2}[text(fields(r)["filename"])] {
			t.Errorf("%v holds %q", r, content)
		}
	}
	if uri := text(fields(fields(e["output"])["z"])["uri"]); uri != s.URL+text(two["uri"]) {
		t.Errorf("uri %q: stored relative, shown absolute", uri)
	}
	const writes = "- %s: {run: {shell: {command: 'printf %s > \"$OUT_DIR/%s\"'}}}\n"
	flow := deploy(t, s, "do:\n"+fmt.Sprintf(writes, "a", "early", "a.txt")+fmt.Sprintf(writes, "b", "late", "b.txt")+"- c: {set: {done: true}}\n")
	e = ends(t, s, flow, "{}")
	if got := names(e); len(got) != 1 || got[0] != "b.txt" {
		t.Errorf("results %v, want those of the last task that produced some", got)
	} else if content := string(download(t, s, list(e["results"])[0])); content != "late" {
		t.Errorf("b.txt holds %q", content)
	}
	flow = deploy(t, s, "do:\n"+fmt.Sprintf(writes, "a", "x", "a.txt")+"- fail: {raise: {error: {type: 'https://example.com/x', status: 400}}}\n")
	if e := finish(t, s, begin(t, s, flow, "{}")); e["results"] != nil {
		t.Errorf("results of an execution that ended in error: %v", e["results"])
	}
}

// testLinks: a link opens one file for one hour; any change of it opens nothing.
func testLinks(t *testing.T, s *server) {
	one, two := upload(t, s, "one.txt", "text/plain", "first"), upload(t, s, "two.txt", "text/plain", "second")
	link := text(one["url"])
	wantStatus(t, plain(t, s, "GET", link), 200)
	u, _ := url.Parse(link)
	q := u.Query()
	if len(q) != 2 || q.Get("signature") == "" || q.Get("expires") == "" {
		t.Errorf("the link is %s", link)
	}
	changed := func(name, value string) string {
		v := *u
		changed := v.Query()
		changed.Set(name, value)
		v.RawQuery = changed.Encode()
		return v.String()
	}
	signature := q.Get("signature")
	last := map[bool]string{true: "B", false: "A"}[signature[0] == 'A']
	for name, address := range map[string]string{
		"other file":       strings.Replace(link, text(one["id"]), text(two["id"]), 1),
		"no such file":     strings.Replace(link, text(one["id"]), nobody, 1),
		"later":            changed("expires", "99999999999"),
		"earlier":          changed("expires", "1"),
		"expires is text":  changed("expires", "never"),
		"expires is empty": changed("expires", ""),
		"one character":    changed("signature", last+signature[1:]),
		"short":            changed("signature", signature[:20]),
		"empty":            changed("signature", ""),
		"padded":           changed("signature", signature+"="),
		"twice":            changed("signature", signature+signature),
		"signature of two": changed("signature", mustQuery(t, text(two["url"]), "signature")),
	} {
		t.Run(name, func(t *testing.T) {
			a := plain(t, s, "GET", address)
			if a.Status != 404 || strings.Contains(string(a.Body), "first") {
				t.Errorf("%s: %d %s", address, a.Status, a.Body)
			}
		})
	}
	wantProblem(t, s, plain(t, s, "GET", changed("extra", "1")), 400, "unknown_parameter")
	// A link opens the content, nothing else.
	for _, path := range []string{"/files/" + text(one["id"]), "/workflows", "/executions"} {
		if a := plain(t, s, "GET", s.URL+"/api/v1"+path+"?"+u.RawQuery); a.Status != 401 {
			t.Errorf("%s with a signature: %d", path, a.Status)
		}
	}
	if a := plain(t, s, "DELETE", link); a.Status < 400 {
		t.Errorf("DELETE with a signature: %d", a.Status)
	}
	// Also fetchable with the key.
	a := plain(t, s, "GET", s.URL+"/api/v1/files/"+text(one["id"])+"/content", "X-Api-Key", s.Key)
	if a.Status != 200 || string(a.Body) != "first" {
		t.Errorf("with the key: %d %s", a.Status, a.Body)
	}
}

func mustQuery(t *testing.T, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

// keysOf reads the keys of the installation that a server serves.
func keysOf(t *testing.T, s *server) *secret.Keys {
	t.Helper()
	ring, err := secret.Load(filepath.Join(s.DataDir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyring.Read(t.Context(), store.New(databaseOf(t, s)), ring)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// databaseOf opens the database that a server uses, beside it, until the test ends.
func databaseOf(t *testing.T, s *server) (db store.DB) {
	t.Helper()
	var err error
	flags := servertest.Location(t, s.DataDir)
	if i := slices.Index(flags, "--database-url"); i >= 0 {
		db, err = postgres.Open(t.Context(), postgres.Options{URL: flags[i+1], Mode: postgres.Shared, Writers: 1, Readers: 1})
	} else {
		db, err = sqlite.Open(sqlite.Options{Path: filepath.Join(s.DataDir, "chargehand.db")})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// testExpiredLinks signs links as the installation does, because no test can wait an hour.
func testExpiredLinks(t *testing.T, s *server) {
	signer := blob.NewSigner(keysOf(t, s).Of(secret.LinkSignature))
	file := upload(t, s, "old.txt", "text/plain", "old")
	var id chargehand.FileID
	if err := id.UnmarshalText([]byte(text(file["id"]))); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[time.Duration]int{-time.Second: 410, -time.Hour: 410, time.Hour: 200} {
		link := blob.Link{Kind: blob.LinkFile, Environment: chargehand.Live, ID: id, ExpiresUnix: time.Now().Add(offset).Unix(), Disposition: "attachment"}
		a := plain(t, s, "GET", fmt.Sprintf("%s/api/v1/files/%s/content?expires=%d&signature=%s", s.URL, id, link.ExpiresUnix, signer.Sign(link)))
		if want == 410 {
			wantProblem(t, s, a, 410, "result_expired")
		} else {
			wantStatus(t, a, want)
		}
		link.Environment = chargehand.Test // a file of the other environment is not this one
		a = plain(t, s, "GET", fmt.Sprintf("%s/api/v1/files/%s/content?expires=%d&signature=%s", s.URL, id, link.ExpiresUnix, signer.Sign(link)))
		if a.Status != 404 && a.Status != 410 {
			t.Errorf("signed for the other environment: %d", a.Status)
		}
	}
}

// testServing: nosniff, attachment, sandbox, ranges, HEAD.
func testServing(t *testing.T, s *server) {
	content := "0123456789abcdefghij"
	file := upload(t, s, "Über \"x\".html", "text/html; charset=utf-8", content)
	link := text(file["url"])
	full := plain(t, s, "GET", link)
	h := full.Header
	if h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
		!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Accept-Ranges") != "bytes" {
		t.Errorf("headers %v", h)
	}
	if d := h.Get("Content-Disposition"); !strings.Contains(d, "filename*=UTF-8''%C3%9Cber%20%22x%22.html") {
		t.Errorf("Content-Disposition %s", d)
	}
	head := plain(t, s, "HEAD", link)
	if head.Status != 200 || len(head.Body) != 0 || head.Header.Get("Content-Length") != "20" || head.Header.Get("ETag") != h.Get("ETag") {
		t.Errorf("HEAD: %d %v", head.Status, head.Header)
	}
	for header, want := range map[string]string{
		"bytes=0-3": "0123", "bytes=4-": content[4:], "bytes=-5": content[15:], "bytes=19-19": "j", "bytes=10-99": content[10:], "bytes=-100": content,
	} {
		a := plain(t, s, "GET", link, "Range", header)
		if a.Status != 206 || string(a.Body) != want || !strings.HasSuffix(a.Header.Get("Content-Range"), "/20") {
			t.Errorf("%s: %d %q %v", header, a.Status, a.Body, a.Header)
		}
	}
	if a := plain(t, s, "GET", link, "Range", "bytes=0-1,5-6"); a.Status != 206 || !strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %d %v", a.Status, a.Header)
	}
	for _, header := range []string{"bytes=20-", "bytes=5-1", "bytes=x"} {
		a := plain(t, s, "GET", link, "Range", header)
		if wantProblem(t, s, a, 416, "range_not_satisfiable"); header == "bytes=20-" && a.Header.Get("Content-Range") != "bytes */20" {
			t.Errorf("%s: %v", header, a.Header)
		}
	}
	if a := plain(t, s, "GET", link, "If-None-Match", h.Get("ETag")); a.Status != 304 || len(a.Body) != 0 {
		t.Errorf("If-None-Match: %d", a.Status)
	}
	if a := plain(t, s, "GET", link, "Range", "bytes=0-3", "If-Range", `"other"`); a.Status != 200 {
		t.Errorf("If-Range with another tag: %d", a.Status)
	}
}

// testStaging: references of the input are in IN_DIR, with a manifest; an argument that is
// exactly a reference is the local path; OUT_DIR is collected; return: all names the files.
func testStaging(t *testing.T, s *server) {
	flow := deploy(t, s, `do:
- work:
    run:
      shell:
        command: |
          test -f "$IN_DIR/manifest.json" || exit 3
          cat "$1" > "$OUT_DIR/copy.txt"
          ls "$IN_DIR" | grep -v manifest | tr '\n' ' '
          pwd >&2
        arguments: ['${ .file }']
      return: all
`)
	file := upload(t, s, "../../etc/passwd", "text/plain", "the content")
	if file["name"] != "passwd" {
		t.Errorf("name %q", file["name"])
	}
	e := ends(t, s, flow, `{"file":`+reference(file)+`,"again":[`+reference(file)+`]}`)
	out := fields(e["output"])
	if out["code"] != 0 || !strings.Contains(text(out["stdout"]), "passwd") || len(list(out["files"])) != 1 {
		t.Fatalf("%s", value.Marshal(out))
	}
	made := fields(list(out["files"])[0])
	shape{"uri": isText, "name": oneOf("copy.txt"), "mediaType": isText, "size": isCount, "digest": isText}.verify(t, "reference", made)
	sum := sha256.Sum256([]byte("the content"))
	if made["digest"] != "sha256:"+hex.EncodeToString(sum[:]) || made["size"] != 11 {
		t.Errorf("%v", made)
	}
	results := list(e["results"])
	if len(results) != 1 || string(download(t, s, results[0])) != "the content" {
		t.Errorf("results %v", results)
	}
	timeline := list(s.Do(t, "GET", executions(text(e["workflow_id"]))+"/"+text(e["id"])+"/timeline", "").Object()["data"])
	if files := list(fields(timeline[0])["files"]); len(files) != 1 {
		t.Errorf("the timeline names %v", files)
	}
}

// testStagedNames: an argument, environment value or stdin that is exactly a reference is the
// local path; collisions are numbered; metadata narrows both directions; a reference that was
// shown with an absolute address counts as well.
func testStagedNames(t *testing.T, s *server) {
	flow := deploy(t, s, `do:
- work:
    metadata: {files: {in: ['${ .a }', '${ .b }'], collect: ['*.keep']}}
    run:
      shell:
        command: |
          ls "$IN_DIR" | grep -v manifest
          cat "$A"; echo; cat; echo; cat "$1"
          echo kept > "$OUT_DIR/x.keep"; echo dropped > "$OUT_DIR/y.drop"
        stdin: '${ .b }'
        arguments: ['${ .a }']
        environment: {A: '${ .a }'}
      return: all
`)
	one, two, three := upload(t, s, "same.txt", "text/plain", "one"), upload(t, s, "same.txt", "text/plain", "two"), upload(t, s, "other.txt", "text/plain", "three")
	e := ends(t, s, flow, `{"a":`+reference(one)+`,"b":`+reference(two)+`,"c":`+reference(three)+`}`)
	lines := strings.Split(text(fields(e["output"])["stdout"]), "\n")
	if len(lines) != 5 || lines[0] == lines[1] || !strings.HasPrefix(lines[0], "same") || !strings.HasPrefix(lines[1], "same") || lines[2] != "one" || lines[4] != "one" {
		t.Errorf("%q", lines)
	}
	if !strings.HasSuffix(lines[3], lines[0]) && !strings.HasSuffix(lines[3], lines[1]) && lines[3] != "two" {
		t.Errorf("stdin is neither the local path nor the content: %q", lines[3])
	}
	results := list(e["results"])
	if len(results) != 1 || fields(results[0])["filename"] != "x.keep" {
		t.Errorf("collected %v", results)
	}
	again := deploy(t, s, "do:\n- a: {run: {shell: {command: 'cat \"$1\"', arguments: ['${ .f }']}}}\n")
	shown := value.Marshal(list(fields(e["output"])["files"])[0])
	if !strings.Contains(string(shown), s.URL) {
		t.Errorf("the reference is not shown absolute: %s", shown)
	}
	if e := ends(t, s, again, `{"f":`+string(shown)+`}`); e["output"] != "kept" {
		t.Errorf("a reference as it was shown is none: %v", e["output"])
	}
}

// testForeignReference: a reference counts only if it names a file of the same environment.
func testForeignReference(t *testing.T, s *server) {
	test := servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "all")
	file := upload(t, s, "live.txt", "text/plain", "live")
	flow := deploy(t, s, echo)
	a := s.Do(t, "POST", executions(flow)+"?wait=60s", `{"input":{"file":`+reference(file)+`}}`, "X-Api-Key", test)
	wantStatus(t, a, 201)
	results := list(a.Object()["results"])
	if len(results) != 1 || fields(results[0])["filename"] != "output.json" {
		t.Errorf("the other environment's file is a result: %s", a.Body)
	}
	forged := strings.Replace(reference(file), text(file["id"]), nobody, 1)
	e := ends(t, s, flow, `{"file":`+forged+`}`)
	if r := list(e["results"]); fields(r[0])["filename"] != "output.json" {
		t.Errorf("a reference to nothing is a result: %v", r)
	}
}
