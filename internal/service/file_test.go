package service

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func (fx *fixture) upload(p *Principal, name, content string) *File {
	fx.t.Helper()
	f, _, err := fx.UploadFile(fx.t.Context(), p, UploadFile{Name: name, ContentType: "text/plain", Content: strings.NewReader(content), View: view})
	if err != nil {
		fx.t.Fatal(err)
	}
	return f
}

func readAll(t testing.TB, content io.ReadCloser) string {
	t.Helper()
	defer content.Close()
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// linkOf takes a signed address apart.
func linkOf(t testing.TB, address string) Link {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var l Link
	id, found := strings.CutSuffix(strings.TrimPrefix(u.Path, "/api/v1/files/"), "/content")
	if !found || l.File.UnmarshalText([]byte(id)) != nil {
		t.Fatalf("address is %s", address)
	}
	l.Expires, l.Signature = u.Query().Get("expires"), u.Query().Get("signature")
	return l
}

func TestUpload(t *testing.T) {
	fx := newFixture(t)
	f := fx.upload(fx.p, "dir/report.txt", "hello")
	sum := sha256.Sum256([]byte("hello"))
	if f.Name != "report.txt" || f.ContentType != "text/plain" || f.Size != 5 || f.SHA256 != hex.EncodeToString(sum[:]) || !f.CreatedAt.Equal(epoch) {
		t.Errorf("the file is %+v", f)
	}
	got, err := fx.GetFile(t.Context(), fx.p, ReadFile{ID: f.ID}, view)
	if err != nil || *got != *f {
		t.Errorf("it is read as %+v, %v, want %+v", got, err, f)
	}
	described, content, err := fx.OpenFile(t.Context(), fx.p, ReadFile{ID: f.ID})
	if err != nil || described.Name != "report.txt" || readAll(t, content) != "hello" {
		t.Errorf("it is opened as %+v, %v", described, err)
	}
	described, content, err = fx.OpenLink(t.Context(), linkOf(t, f.URL))
	if err != nil || described.Size != 5 || readAll(t, content) != "hello" {
		t.Errorf("the link opens %+v, %v", described, err)
	}
	if plain, _, err := fx.UploadFile(t.Context(), fx.p, UploadFile{Content: strings.NewReader("")}); err != nil || plain.Name != "file" || plain.ContentType != "application/octet-stream" || plain.Size != 0 {
		t.Errorf("an empty file without a name is %+v, %v", plain, err)
	}
}

// TestUploadedMediaTypes: what is served as a header is a media type.
func TestUploadedMediaTypes(t *testing.T) {
	fx := newFixture(t)
	for given, want := range map[string]string{
		"text/plain; charset=utf-8": "text/plain; charset=utf-8", "image/png": "image/png", "": anyContent, "text/": anyContent,
		"text/plain\x01": anyContent, "text/plain\r\nX: y": anyContent, "text/pl\xe4in": anyContent, "text/" + strings.Repeat("x", 300): anyContent,
	} {
		f, _, err := fx.UploadFile(t.Context(), fx.p, UploadFile{ContentType: given, Content: strings.NewReader("x")})
		if err != nil || f.ContentType != want {
			t.Errorf("%q is kept as %+v, %v", given, f, err)
		}
	}
}

func TestUploadRefuses(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.UploadBytes = 10 })
	fx.upload(fx.p, "a", "0123456789")
	_, _, err := fx.UploadFile(t.Context(), fx.p, UploadFile{Content: strings.NewReader("0123456789x")})
	wantCode(t, err, chargehand.CodePayloadTooLarge)
	_, _, err = fx.UploadFile(t.Context(), fx.p, UploadFile{Name: strings.Repeat("x", 256), Content: strings.NewReader("")})
	wantCode(t, err, chargehand.CodeInvalidParameter)
	cut := errors.New("the connection is gone")
	_, _, err = fx.UploadFile(t.Context(), fx.p, UploadFile{Content: io.MultiReader(strings.NewReader("x"), failingReader{cut})})
	if !errors.Is(err, cut) {
		t.Errorf("an upload that was cut gives %v", err)
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func TestFileNames(t *testing.T) {
	for given, want := range map[string]string{
		"": "file", ".": "file", "..": "file", "/": "file", "a/": "file", "a/b.txt": "b.txt", `C:\x\y.txt`: "y.txt", " a ": "a",
		"a\x00b\r\nc": "abc", "x\u202egpj.exe": "xgpj.exe", "x\u200f\u061c\u2028y": "xy", "größe.pdf": "größe.pdf", "\xff": "file", "../../etc/passwd": "passwd",
		strings.Repeat("ä", 127): strings.Repeat("ä", 127),
	} {
		if got, err := cleanFileName(given); err != nil || got != want {
			t.Errorf("%q becomes %q, %v, want %q", given, got, err, want)
		}
	}
}

func TestSeekInContent(t *testing.T) {
	fx := newFixture(t)
	f := fx.upload(fx.p, "a", "0123456789")
	_, content, err := fx.OpenFile(t.Context(), fx.p, ReadFile{ID: f.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	for _, c := range []struct {
		offset int64
		whence int
		want   string
	}{{0, io.SeekStart, "0123456789"}, {3, io.SeekStart, "3456789"}, {-2, io.SeekEnd, "89"}, {0, io.SeekEnd, ""}, {-4, io.SeekCurrent, "6789"}, {20, io.SeekStart, ""}} {
		if _, err := content.Seek(c.offset, c.whence); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(content); err != nil || string(got) != c.want {
			t.Errorf("from %d (%d) there is %q, %v, want %q", c.offset, c.whence, got, err, c.want)
		}
		if c.offset == 20 {
			break
		}
	}
	if _, err := content.Seek(-1, io.SeekStart); err == nil {
		t.Error("a position before the start is accepted")
	}
}

func TestFilesAreHidden(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	fx.finish(e.ID, `{"a":1}`)
	upload := fx.upload(fx.p, "a", "x")
	made := fx.result(e, "made.txt", "made")
	running := fx.create(flow.ID, noInput)
	for name, c := range map[string]struct {
		p  *Principal
		id chargehand.FileID
	}{
		"unknown":                        {fx.p, newID[chargehand.FileID](3)},
		"another environment":            {fx.test, upload.ID},
		"another account":                {fx.stranger(), upload.ID},
		"an output of another env":       {fx.test, chargehand.FileID(e.ID)},
		"the output of a running one":    {fx.p, chargehand.FileID(running.ID)},
		"made in a workflow not in list": {fx.principal(chargehand.Live, PresetAll, other.ID), made},
		"output of workflow not in list": {fx.principal(chargehand.Live, PresetAll, other.ID), chargehand.FileID(e.ID)},
	} {
		_, err := fx.GetFile(t.Context(), c.p, ReadFile{ID: c.id}, view)
		wantCode(t, err, chargehand.CodeFileNotFound)
		_, _, err = fx.OpenFile(t.Context(), c.p, ReadFile{ID: c.id})
		if wantCode(t, err, chargehand.CodeFileNotFound); err.Error() != fileNotFound().Error() {
			t.Errorf("%s: reported as %v", name, err)
		}
	}
	limited := fx.principal(chargehand.Live, PresetAll, flow.ID)
	for _, id := range []chargehand.FileID{upload.ID, made, chargehand.FileID(e.ID)} {
		if _, err := fx.GetFile(t.Context(), limited, ReadFile{ID: id}, view); err != nil {
			t.Errorf("a key for the workflow gets %v", err)
		}
	}
}

// result stores a file that an execution made.
func (fx *fixture) result(e *Execution, name, content string) chargehand.FileID {
	fx.t.Helper()
	digest, size, err := fx.blobs.Put(fx.t.Context(), strings.NewReader(content), 1000)
	if err != nil {
		fx.t.Fatal(err)
	}
	id := newID[chargehand.FileID](fx.nowMs())
	err = fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(e.ID)
		if err != nil {
			return err
		}
		return tx.InsertFile(&store.File{
			ID: id, Account: row.Account, Environment: row.Environment, Name: name, MediaType: "text/plain",
			Size: size, Digest: digest.Bytes(), Execution: row.No, Visible: true,
		})
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return id
}

func TestLinks(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	fx.finish(e.ID, `{"a":1}`)
	output := linkOf(t, fx.get(e).Results[0].URL)
	upload := linkOf(t, fx.upload(fx.p, "a", "x").URL)
	inTest := linkOf(t, fx.upload(fx.test, "b", "y").URL)
	for link, want := range map[Link]string{output: `{"a":1}`, upload: "x", inTest: "y"} {
		_, content, err := fx.OpenLink(t.Context(), link)
		if err != nil || readAll(t, content) != want {
			t.Errorf("link opens with %v, want %s", err, want)
		}
	}
	t.Run("forged", func(t *testing.T) {
		for name, change := range map[string]func(*Link){
			"another file":     func(l *Link) { l.File = inTest.File },
			"a later expiry":   func(l *Link) { l.Expires = "9" + l.Expires },
			"no expiry":        func(l *Link) { l.Expires = "" },
			"a signed number":  func(l *Link) { l.Expires = "+" + l.Expires },
			"no signature":     func(l *Link) { l.Signature = "" },
			"another one":      func(l *Link) { l.Signature = inTest.Signature },
			"output as upload": func(l *Link) { l.File = output.File },
			"a huge expiry":    func(l *Link) { l.Expires = strings.Repeat("9", 400) },
		} {
			l := upload
			change(&l)
			_, _, err := fx.OpenLink(t.Context(), l)
			if wantCode(t, err, chargehand.CodeFileNotFound); t.Failed() {
				t.Fatal(name)
			}
		}
	})
	t.Run("old", func(t *testing.T) {
		fx.pass(time.Hour - time.Millisecond)
		if _, content, err := fx.OpenLink(t.Context(), upload); err != nil {
			t.Errorf("just before its end a link gives %v", err)
		} else {
			content.Close()
		}
		fx.pass(time.Second)
		_, _, err := fx.OpenLink(t.Context(), upload)
		wantCode(t, err, chargehand.CodeResultExpired)
		_, _, err = fx.OpenLink(t.Context(), output)
		wantCode(t, err, chargehand.CodeResultExpired)
	})
}

func TestResultFiles(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	first, second := fx.result(e, "one.txt", "1"), fx.result(e, "two.txt", "22")
	output := `{"file":{"uri":"/api/v1/files/` + second.String() + `"},"other":{"uri":"/api/v1/files/` + newID[chargehand.FileID](2).String() + `"}}`
	files := `["` + second.String() + `","` + first.String() + `"]`
	err := fx.engine.end(t.Context(), e.ID, chargehand.Finished, chargehand.Completed, &store.Outcome{Output: inline(output), Files: []byte(files)})
	if err != nil {
		t.Fatal(err)
	}
	got := fx.get(e)
	if len(got.Results) != 2 || got.Results[0].Filename != "two.txt" || got.Results[1].Filename != "one.txt" || got.Results[0].Size != 2 || got.Results[0].ContentType != "text/plain" {
		t.Fatalf("results are %+v", got.Results)
	}
	_, content, err := fx.OpenLink(t.Context(), linkOf(t, got.Results[0].URL))
	if err != nil || readAll(t, content) != "22" {
		t.Errorf("the link gives %v", err)
	}
	// References are shown absolute; what names no file is plain data.
	if !strings.Contains(string(got.Output), `"https://example.com/api/v1/files/`+second.String()+`"`) || strings.Count(string(got.Output), "https://") != 1 {
		t.Errorf("output is %s", got.Output)
	}
	_, err = fx.GetFile(t.Context(), fx.p, ReadFile{ID: chargehand.FileID(e.ID)}, view)
	wantCode(t, err, chargehand.CodeFileNotFound) // there is no output.json beside result files
}

// TestResultsWithoutTheirFiles: files that were deleted are no results, and when the last of them is gone, the output
// is the result: whatever results name can be read.
func TestResultsWithoutTheirFiles(t *testing.T) {
	fx := newFixture(t)
	e := fx.create(fx.apply(definition("one", "1.0.0")).ID, noInput)
	first, second := fx.result(e, "one.txt", "1"), fx.result(e, "two.txt", "22")
	output := `{"file":{"uri":"/api/v1/files/` + first.String() + `"}}`
	files := `["` + first.String() + `","` + second.String() + `"]`
	err := fx.engine.end(t.Context(), e.ID, chargehand.Finished, chargehand.Completed, &store.Outcome{Output: inline(output), Files: []byte(files)})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{fx.get(e).ETag: true}
	for _, step := range []struct {
		deleted       chargehand.FileID
		name, content string
	}{{first, "two.txt", "22"}, {second, outputName, output}} {
		if err := fx.DeleteFile(t.Context(), fx.p, step.deleted); err != nil {
			t.Fatal(err)
		}
		got := fx.get(e)
		if len(got.Results) != 1 || got.Results[0].Filename != step.name || tags[got.ETag] {
			t.Fatalf("without %s the results are %+v, with the tag %s after %v", step.deleted, got.Results, got.ETag, tags)
		}
		tags[got.ETag] = true
		link := linkOf(t, got.Results[0].URL)
		if _, content, err := fx.OpenLink(t.Context(), link); err != nil || readAll(t, content) != step.content {
			t.Errorf("the link of %s gives %v, want %s", step.name, err, step.content)
		}
		described, err := fx.GetFile(t.Context(), fx.p, ReadFile{ID: link.File}, view)
		if err != nil || described.Name != step.name || described.Size != got.Results[0].Size || described.SHA256 != got.Results[0].SHA256 {
			t.Errorf("%s is read as %+v, %v", step.name, described, err)
		}
	}
}

func TestReferencesInInputs(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	mine, foreign := fx.upload(fx.p, "a", "x"), fx.upload(fx.test, "b", "y")
	absolute := "http://other.example:8080/api/v1/files/" + mine.ID.String()
	input := map[string]any{
		"list":    []any{map[string]any{"uri": absolute, "name": "a"}},
		"foreign": map[string]any{"uri": "https://example.com/api/v1/files/" + foreign.ID.String()},
		"text":    absolute,
	}
	e := fx.create(flow.ID, input)
	stored := string(fx.engine.starts[0].Row.Input.Inline)
	want := `{"foreign":{"uri":"https://example.com/api/v1/files/` + foreign.ID.String() + `"},"list":[{"name":"a","uri":"/api/v1/files/` + mine.ID.String() + `"}],"text":"` + absolute + `"}`
	if stored != want {
		t.Errorf("stored input is\n%s, want\n%s", stored, want)
	}
	if got := fx.engine.starts[0].Input.(map[string]any)["list"].([]any)[0].(map[string]any)["uri"]; got != "/api/v1/files/"+mine.ID.String() {
		t.Errorf("the engine gets %v", got)
	}
	if input["list"].([]any)[0].(map[string]any)["uri"] != absolute {
		t.Error("the caller's value was changed")
	}
	b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Body: map[string]any{"items": []any{input, noInput}}, View: view})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		list, _ := fx.entries(b, BatchEntries{})
		if !strings.Contains(string(list[0].Inputs), `"uri":"https://example.com/api/v1/files/`+mine.ID.String()+`"`) {
			t.Errorf("inputs are shown as %s", list[0].Inputs)
		}
		b = fx.getBatch(b, view)
	}
	// The executions keep the file, although it is older than any upload may be.
	fx.pass(31 * 24 * time.Hour)
	if err := fx.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fx.GetFile(t.Context(), fx.p, ReadFile{ID: mine.ID}, view); err != nil {
		t.Errorf("a file that is in use was deleted: %v", err)
	}
	if got := fx.get(e); got.Status != chargehand.Initial {
		t.Errorf("a running execution is %+v", got)
	}
}

func TestParseReference(t *testing.T) {
	id := newID[chargehand.FileID](1)
	for _, good := range []string{"/api/v1/files/" + id.String(), "http://h/api/v1/files/" + id.String(), "https://h:1/api/v1/files/" + strings.ToUpper(id.String())} {
		if got, ok := chargehand.ParseFileURI(good); !ok || got != id {
			t.Errorf("%s is %v, %v", good, got, ok)
		}
	}
	for _, bad := range []string{
		"", id.String(), "/api/v1/files/", "/api/v1/files/x", "/api/v1/files/" + id.String() + "/content", "/api/v2/files/" + id.String(),
		"ftp://h/api/v1/files/" + id.String(), "http://h/x/api/v1/files/" + id.String(), "http://h/api/v1/files/" + id.String() + "?a", "http://[/api/v1/files/" + id.String(),
	} {
		if _, ok := chargehand.ParseFileURI(bad); ok {
			t.Errorf("%s is a reference", bad)
		}
	}
}
