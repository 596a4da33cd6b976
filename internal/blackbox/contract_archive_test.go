package blackbox_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"
)

// archivedFlow sees a secret, and has its input as its output.
const archivedFlow = `use: {secrets: [archived]}
do:
- hidden:
    run: {script: {language: js, code: 'return {text}', arguments: {text: '${ $secrets.archived }'}}}
- last: {set: '${ $workflow.input }'}
`

// testArchive: an archive has what the reads answer, on every engine the same, and a file under a name that is no path.
func testArchive(t *testing.T, s *server) {
	wantStatus(t, s.Do(t, "PUT", "/secrets/archived", `{"value":"open-the-archive"}`), 201)
	a := s.Do(t, "POST", "/files?filename=re%20port%3A.txt", "three", "Content-Type", "text/plain")
	wantStatus(t, a, 201)
	file := a.Object()
	path := begin(t, s, deploy(t, s, archivedFlow), `{"file":{"uri":"`+text(file["uri"])+`","name":"x"}}`)
	wantStatus(t, s.Do(t, "GET", path+"/archive", ""), 200)
	finish(t, s, path)
	a = s.Do(t, "GET", path+"/archive", "")
	wantStatus(t, a, 200)
	r, err := zip.NewReader(bytes.NewReader(a.Body), int64(len(a.Body)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range r.File {
		from, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if got[entry.Name] = string(content); strings.Contains(string(content), "open-the-archive") {
			t.Errorf("%s has the secret: %s", entry.Name, content)
		}
	}
	sum := sha256.Sum256([]byte(got["files/0001-re_port_.txt"]))
	if hex.EncodeToString(sum[:]) != file["sha256"] || got["files/0001-re_port_.txt"] != "three" {
		t.Errorf("the file is %q of %v", got["files/0001-re_port_.txt"], file)
	}
	runs := list(s.Do(t, "GET", path+"/timeline", "").Object()["data"])
	if lines := strings.Count(got["timeline.jsonl"], "\n"); lines != len(runs) || lines != 2 || !strings.Contains(got["timeline.jsonl"], "[redacted]") {
		t.Errorf("%d runs, of %d: %s", lines, len(runs), got["timeline.jsonl"])
	}
	if e := fields(parse(t, got["execution.json"])); e["status"] != "finished" || !equal(e["input"], e["output"]) || len(list(e["results"])) != 1 {
		t.Errorf("the execution is %s", got["execution.json"])
	}
	if log, there := got["log.jsonl"]; !strings.Contains(got["definition.yaml"], "archived") || !there || log != "" {
		t.Errorf("definition %s, log %q", got["definition.yaml"], log)
	}
	index := fields(parse(t, got["files.json"]))
	if files := list(index["files"]); len(files) != 1 || len(list(index["missing"])) != 0 || fields(files[0])["name"] != "re port:.txt" {
		t.Errorf("files.json is %s", got["files.json"])
	}
}
