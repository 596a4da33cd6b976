package api

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// unzipped are the entries of a zip file, in its order.
func unzipped(t *testing.T, body []byte) (names []string, contents map[string]string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	contents = map[string]string{}
	for _, f := range r.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		names, contents[f.Name] = append(names, f.Name), string(text)
	}
	return names, contents
}

// missingIn reads what files.json says is missing.
func missingIn(t *testing.T, contents map[string]string) []missingPart {
	t.Helper()
	var index struct{ Missing []missingPart }
	if err := json.Unmarshal([]byte(contents["files.json"]), &index); err != nil {
		t.Fatal(err)
	}
	return index.Missing
}

func TestArchive(t *testing.T) {
	closed := false
	a := fixtureArchive()
	a.Close, a.Truncated = func() { closed = true }, true
	s := newServer(t, &fake{archive: func() (*service.Archive, error) { return a, nil }})
	got := request{path: pathE + "/archive"}.to(s)
	if got.status != 200 || got.header.Get("Content-Type") != "application/zip" || !closed ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), `attachment; filename="execution-`+executionID.String()+`.zip"`) {
		t.Fatalf("%d %v, closed %t", got.status, got.header, closed)
	}
	names, contents := unzipped(t, got.body)
	want := []string{"execution.json", "definition.yaml", "timeline.jsonl", "log.jsonl", "files/0001-a.txt", "files/0002-a.txt", "files.json"}
	if !slices.Equal(names, want) {
		t.Errorf("the entries are %q", names)
	}
	read := request{path: pathE}.to(s)
	if contents["execution.json"] != string(read.body)+"\n" {
		t.Errorf("execution.json is %s, a read %s", contents["execution.json"], read.body)
	}
	if contents["definition.yaml"] != "document: {}\n" || contents["files/0002-a.txt"] != "0123456789" ||
		strings.Count(contents["timeline.jsonl"], "\n") != 2 || !strings.HasPrefix(contents["timeline.jsonl"], `{"seq":1,"name":"a"`) ||
		!strings.HasPrefix(contents["log.jsonl"], `{"line":1,`) || !strings.HasSuffix(contents["log.jsonl"], "\"text\":\"12 rows\"}\n") {
		t.Errorf("the contents are %q", contents)
	}
	v := decode(t, []byte(contents["files.json"]))
	files, missing := v["files"].([]any), v["missing"].([]any)
	first, second := files[0].(map[string]any), files[1].(map[string]any)
	if len(files) != 2 || first["path"] != "files/0001-a.txt" || first["name"] != "a.txt" || first["sha256"] != strings.Repeat("ab", 32) ||
		first["size"] != json.Number("10") || first["content_type"] != "text/plain" || first["result"] != true || second["result"] != false || second["seq"] != json.Number("1") {
		t.Errorf("the files are %v", files)
	}
	lost, gone := missing[0].(map[string]any), missing[1].(map[string]any)
	if len(missing) != 2 || lost["path"] != "timeline.jsonl" || lost["reason"] != "not_kept" || gone["reason"] != "deleted" || gone["name"] != "gone.txt" || gone["id"] != fileID.String() {
		t.Errorf("missing are %v", missing)
	}
	if a := (request{method: "HEAD", path: pathE + "/archive"}).to(s); a.status != 200 || len(a.body) != 0 || a.header.Get("Content-Type") != "application/zip" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
}

// TestArchiveLacks: what the principal may not read, and what is gone, is not there, and is said.
func TestArchiveLacks(t *testing.T) {
	a := fixtureArchive()
	a.Definition, a.Missing = nil, nil
	open := a.Open
	a.Open = func(ctx context.Context, i int) (io.ReadCloser, error) {
		if i == 0 {
			return nil, chargehand.NewError(chargehand.CodeFileNotFound, "There is no such file.")
		}
		return open(ctx, i)
	}
	got := request{path: pathE + "/archive"}.to(newServer(t, &fake{archive: func() (*service.Archive, error) { return a, nil }}))
	names, contents := unzipped(t, got.body)
	if !slices.Equal(names, []string{"execution.json", "timeline.jsonl", "log.jsonl", "files/0002-a.txt", "files.json"}) {
		t.Errorf("the entries are %q", names)
	}
	missing := missingIn(t, contents)
	if len(missing) != 2 || missing[0].Path != "definition.yaml" || missing[0].Reason != "not_allowed" || missing[1].Reason != "content_missing" || missing[1].Name != "a.txt" {
		t.Errorf("missing are %+v", missing)
	}
	a = fixtureArchive()
	a.Definition, a.DefinitionType = []byte("{}"), "application/json"
	got = request{path: pathE + "/archive"}.to(newServer(t, &fake{archive: func() (*service.Archive, error) { return a, nil }}))
	if _, contents := unzipped(t, got.body); contents["definition.json"] != "{}" {
		t.Errorf("a definition in JSON: %q", contents)
	}
}

// TestArchiveBreaks: an error before the first piece is a problem, and one after it breaks the answer off.
func TestArchiveBreaks(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, spoil := range map[string]func(a *service.Archive){
		"timeline": func(a *service.Archive) {
			a.Timeline = func(context.Context, func(*service.TimelineEntry) error) error { return broken }
		},
		"log": func(a *service.Archive) {
			a.Log = func(context.Context, func(*service.LogLine) error) error { return broken }
		},
		"file": func(a *service.Archive) {
			a.Open = func(context.Context, int) (io.ReadCloser, error) { return nil, broken }
		},
		"short file": func(a *service.Archive) {
			a.Open = func(context.Context, int) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("012345678")), nil
			}
		},
	} {
		a, closed := fixtureArchive(), false
		a.Close = func() { closed = true }
		spoil(a)
		s := newServer(t, &fake{archive: func() (*service.Archive, error) { return a, nil }})
		got := request{path: pathE + "/archive"}.to(s)
		wantProblem(t, got, 500, "internal")
		if got.header.Get("Content-Disposition") != "" || !closed {
			t.Errorf("%s: %v, closed %t", name, got.header, closed)
		}
	}
	a := fixtureArchive()
	a.Files[0].Size = 10 << 20
	a.Open = func(context.Context, int) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(io.LimitReader(&noise{}, 9<<20), brokenReader{broken})), nil
	}
	addr := start(t, newServer(t, &fake{archive: func() (*service.Archive, error) { return a, nil }}))
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+pathE+"/archive", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Api-Key", goodKey)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil || len(body) < streamBytes {
		t.Errorf("%d: an archive of %d bytes ended well", resp.StatusCode, len(body))
	}
	if _, err := zip.NewReader(bytes.NewReader(body), int64(len(body))); err == nil {
		t.Error("what was cut off can be read as a zip file")
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// noise is what does not get smaller by being packed.
type noise struct{ state uint64 }

func (n *noise) Read(b []byte) (int, error) {
	for i := range b {
		n.state = n.state*6364136223846793005 + 1442695040888963407
		b[i] = byte(n.state >> 56)
	}
	return len(b), nil
}

// TestArchiveRefused: what the service refuses is a problem, and so is a key that ends before the first piece.
func TestArchiveRefused(t *testing.T) {
	f := &fake{fail: chargehand.NewError(chargehand.CodeArchiveTooLarge, "Too much.")}
	wantProblem(t, request{path: pathE + "/archive"}.to(newServer(t, f)), 422, "archive_too_large")
	f.fail = &chargehand.Error{Code: chargehand.CodeRateLimited, Detail: "Too many.", RetryAfter: 5}
	a := request{path: pathE + "/archive"}.to(newServer(t, f))
	if wantProblem(t, a, 429, "rate_limited"); a.header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	for reason, want := range map[string]chargehand.Code{service.EndRevoked: chargehand.CodeInsufficientScope, service.EndUnavailable: chargehand.CodeUnavailable} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&service.StreamEnd{Reason: reason, Detail: "It has ended."})
		var shown *chargehand.Error
		if err := heldError(ctx, context.Canceled); !errors.As(err, &shown) || shown.Code != want {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if err := heldError(t.Context(), io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("another error becomes %v", err)
	}
}

// TestArchiveIsStreamed: what is in memory does not grow with the files.
func TestArchiveIsStreamed(t *testing.T) {
	const size = 200 << 20
	a := fixtureArchive()
	a.Files[0].Size, a.Files = size, a.Files[:1]
	a.Open = func(context.Context, int) (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeros{}, size)), nil
	}
	s := newServer(t, &fake{archive: func() (*service.Archive, error) { return a, nil }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	request{path: pathE + "/archive"}.to(s)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > size/8 {
		t.Errorf("%d bytes were allocated for a file of %d", grown, size)
	}
}

// TestArchiveOfManyFiles: each file costs a little memory for the list at the end, and nothing to be packed.
func TestArchiveOfManyFiles(t *testing.T) {
	const files = 2000
	a := fixtureArchive()
	a.Files = slices.Repeat(a.Files[:1], files)
	s := newServer(t, &fake{archive: func() (*service.Archive, error) { return a, nil }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := request{path: pathE + "/archive"}.to(s)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > files*64<<10 {
		t.Errorf("%d bytes were allocated for %d files", grown, files)
	}
	names, contents := unzipped(t, got.body)
	if len(names) != files+5 || contents["files/2000-a.txt"] != "0123456789" {
		t.Errorf("there are %d entries", len(names))
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// TestArchivedPaths: a name that data has given is no path, collides with no other, and is one that every system has.
func TestArchivedPaths(t *testing.T) {
	for name, want := range map[string]string{
		"report.pdf": "report.pdf", "": "file", ".": "file", "..": "file", "../../etc/passwd": "_.._etc_passwd", `..\..\x.dll`: `_.._x.dll`, "/etc/passwd": "_etc_passwd",
		`C:\x.txt`: "C__x.txt", "a\x00b\r\nc.txt": "a_b__c.txt", "CON": "CON", "nul.txt": "nul.txt", "a.": "a", ".hidden": "hidden", "größe 1.pdf": "größe_1.pdf",
		"x\u202egpj.exe": "x_gpj.exe", "日本.csv": "日本.csv", "\xff\xfe.bin": "__.bin", "a:b|c?.txt": "a_b_c_.txt", "e\u0301.txt": "e\u0301.txt", "file://x": "file___x",
		strings.Repeat("ä", 200) + ".jpeg":                       strings.Repeat("ä", 47) + ".jpeg",
		strings.Repeat("x", 300):                                 strings.Repeat("x", 100),
		"a." + strings.Repeat("b", 300):                          "a." + strings.Repeat("b", 98),
		"x" + strings.Repeat(".", 200) + "y":                     "x.y",
		"x" + strings.Repeat(".", 200) + strings.Repeat("y", 50): "x",
	} {
		if got := archivedPath(7, name); got != "files/0007-"+want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if a, b := archivedPath(10_000, "x"), archivedPath(1, "x"); a != "files/10000-x" || a == b {
		t.Errorf("%s and %s", a, b)
	}
}

func FuzzArchivedPath(f *testing.F) {
	for _, name := range []string{"", "..", "../x", "a/b\\c", "CON.txt", "a\x00b", "\u202e", "\xff", strings.Repeat("ä.", 200)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := archivedPath(1, name)
		file, below := strings.CutPrefix(got, "files/0001-")
		if !below || path.Clean(got) != got || file == "" || len(file) > maxArchivedName || !utf8.ValidString(file) ||
			strings.ContainsAny(file, "/\\:*?\"<>|\x00 ") || strings.HasSuffix(file, ".") {
			t.Errorf("%q becomes %q", name, got)
		}
	})
}
