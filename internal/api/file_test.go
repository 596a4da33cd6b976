package api

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// stored is what the service was given to store.
type stored struct {
	name, mediaType, content string
	err                      error
}

func storing(into *stored) *fake {
	return &fake{limits: service.Limits{UploadBytes: 1000}, uploadFile: func(r service.UploadFile) (*service.File, bool, error) {
		content, err := io.ReadAll(r.Content)
		*into = stored{r.Name, r.ContentType, string(content), err}
		if err != nil {
			return nil, false, fmt.Errorf("store file: %w", err)
		}
		return fixtureFile(), false, nil
	}}
}

func TestRawUpload(t *testing.T) {
	var got stored
	s := newServer(t, storing(&got))
	a := request{
		method: "POST", path: "/api/v1/files?filename=B%C3%BCcher%20%22.txt", body: "hello\x00",
		header: map[string]string{"Content-Type": "text/plain; charset=utf-8"},
	}.to(s)
	if a.status != 201 || got != (stored{"Bücher \".txt", "text/plain; charset=utf-8", "hello\x00", nil}) {
		t.Errorf("%d, stored %+v\n%s", a.status, got, a.body)
	}
	v := decode(t, a.body)
	if a.header.Get("Location") != "http://example.com"+pathF || v["uri"] != pathF {
		t.Errorf("Location %q, uri %v", a.header.Get("Location"), v["uri"])
	}
	reference := v["reference"].(map[string]any)
	if reference["uri"] != pathF || reference["digest"] != "sha256:"+strings.Repeat("ab", 32) || reference["mediaType"] != "text/html" {
		t.Errorf("reference %v", reference)
	}
	if a := (request{method: "POST", path: "/api/v1/files"}).to(s); a.status != 201 || got.content != "" || got.err != nil {
		t.Errorf("an empty file: %d, stored %+v", a.status, got)
	}
	wantProblem(t, request{method: "POST", path: "/api/v1/files?filename=a%00b", body: "x"}.to(s), 400, "invalid_parameter")
}

// TestUploadLimit: exactly the limit fits; one byte more does not, announced or not.
func TestUploadLimit(t *testing.T) {
	var got stored
	s := newServer(t, storing(&got))
	if a := (request{method: "POST", path: "/api/v1/files", body: strings.Repeat("x", 1000)}).to(s); a.status != 201 || len(got.content) != 1000 {
		t.Errorf("at the limit: %d, %d bytes\n%s", a.status, len(got.content), a.body)
	}
	got = stored{}
	wantProblem(t, request{method: "POST", path: "/api/v1/files", body: strings.Repeat("x", 1001)}.to(s), 413, "payload_too_large")
	if got.content != "" {
		t.Error("an announced excess was read")
	}
	r := httptest.NewRequest("POST", "/api/v1/files", io.MultiReader(strings.NewReader(strings.Repeat("x", 1001))))
	r.ContentLength = -1
	r.Header.Set("x-api-key", goodKey)
	wantProblem(t, serve(s, r), 413, "payload_too_large")
	if got.err == nil {
		t.Error("the service stored a file that is too large")
	}
	wantProblem(t, request{method: "POST", path: "/api/v1/files", body: "x", header: map[string]string{"Content-Encoding": "gzip"}}.to(s), 415, "unsupported_media_type")
}

// multipartForm builds a multipart body; a part whose name starts with @ is a file.
func multipartForm(t *testing.T, parts ...[2]string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, part := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="field"`}}
		if name, ok := strings.CutPrefix(part[0], "@"); ok {
			h = textproto.MIMEHeader{
				"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}, "Content-Type": {"image/png"},
			}
		}
		p, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(p, part[1])
	}
	w.Close()
	return b.String(), w.FormDataContentType()
}

func TestFormUpload(t *testing.T) {
	var got stored
	s := newServer(t, storing(&got))
	post := func(path, body, contentType string) answered {
		got = stored{}
		return request{method: "POST", path: path, body: body, header: map[string]string{"Content-Type": contentType}}.to(s)
	}
	body, contentType := multipartForm(t, [2]string{"note", "x"}, [2]string{"@../a.png", "PNG"}, [2]string{"more", "y"})
	if a := post("/api/v1/files", body, contentType); a.status != 201 || got != (stored{"a.png", "image/png", "PNG", nil}) {
		t.Errorf("%d, stored %+v\n%s", a.status, got, a.body)
	}
	if post("/api/v1/files?filename=b.png", body, contentType); got.name != "b.png" {
		t.Errorf("the name of the query does not win: %+v", got)
	}
	cut := body[:strings.Index(body, "PNG")+1]
	wantProblem(t, post("/api/v1/files", cut, contentType), 400, "invalid_body")
	body, contentType = multipartForm(t, [2]string{"@a.png", "PNG"}, [2]string{"@b.png", "PNG"})
	wantProblem(t, post("/api/v1/files", body, contentType), 400, "invalid_body")
	if got.err == nil {
		t.Error("one of two files was stored")
	}
	body, contentType = multipartForm(t, [2]string{"note", "x"})
	wantProblem(t, post("/api/v1/files", body, contentType), 400, "invalid_body")
	wantProblem(t, post("/api/v1/files", "garbage", contentType), 400, "invalid_body")
	wantProblem(t, post("/api/v1/files", body, "multipart/form-data"), 400, "invalid_body")
	body, contentType = multipartForm(t, [2]string{"@a.png", strings.Repeat("x", 1001)})
	wantProblem(t, post("/api/v1/files", body, contentType), 413, "payload_too_large")
}

// TestDownload: content is never shown by a browser on our origin, and ranges work.
func TestDownload(t *testing.T) {
	s := newServer(t, &fake{})
	a := request{path: pathF + "/content"}.to(s)
	if a.status != 200 || string(a.body) != "0123456789" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
		"Accept-Ranges": "bytes", "Content-Length": "10", "Etag": `"` + strings.Repeat("ab", 32) + `"`,
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	kind, params, err := mime.ParseMediaType(a.header.Get("Content-Disposition"))
	if err != nil || kind != "attachment" || params["filename"] != `Bücher "1".txt` {
		t.Errorf("Content-Disposition %q: %v %v", a.header.Get("Content-Disposition"), params, err)
	}
	tag := a.header.Get("ETag")
	tests := []struct {
		method string
		header map[string]string
		status int
		body   string
		ranges string
	}{
		{"HEAD", nil, 200, "", ""},
		{"GET", map[string]string{"Range": "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		{"GET", map[string]string{"Range": "bytes=-3"}, 206, "789", "bytes 7-9/10"},
		{"GET", map[string]string{"Range": "bytes=8-", "If-Range": tag}, 206, "89", "bytes 8-9/10"},
		{"GET", map[string]string{"Range": "bytes=8-", "If-Range": `"other"`}, 200, "0123456789", ""},
		{"GET", map[string]string{"If-None-Match": tag}, 304, "", ""},
		{"GET", map[string]string{"If-Match": tag}, 200, "0123456789", ""},
	}
	for _, test := range tests {
		a := request{method: test.method, path: pathF + "/content", header: test.header}.to(s)
		if a.status != test.status || string(a.body) != test.body || a.header.Get("Content-Range") != test.ranges {
			t.Errorf("%+v: %d %q %q", test, a.status, a.body, a.header.Get("Content-Range"))
		}
	}
	a = request{path: pathF + "/content", header: map[string]string{"Range": "bytes=50-"}}.to(s)
	wantProblem(t, a, 416, "range_not_satisfiable")
	if a.header.Get("Content-Range") != "bytes */10" || a.header.Get("Content-Disposition") != "" {
		t.Errorf("416: %v", a.header)
	}
	wantProblem(t, request{path: pathF + "/content", header: map[string]string{"If-Match": `"other"`}}.to(s), 412, "precondition_failed")
}

// TestOddRanges: the last 0 bytes are none, and no client multiplies an answer by asking for a thousand pieces.
func TestOddRanges(t *testing.T) {
	s := newServer(t, &fake{})
	ask := func(ranges string, more ...string) answered {
		header := map[string]string{"Range": ranges}
		for i := 0; i < len(more); i += 2 {
			header[more[i]] = more[i+1]
		}
		return request{path: pathF + "/content", header: header}.to(s)
	}
	for _, ranges := range []string{"bytes=-0", "bytes=-00", "bytes=-0,-0", "bytes= -0", "bytes=" + strings.Repeat("0-0,", 999) + "1-1", "bytes=" + strings.Repeat("-0,", 16) + "1-1"} {
		a := ask(ranges)
		wantProblem(t, a, 416, "range_not_satisfiable")
		if a.header.Get("Content-Range") != "bytes */10" || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.40s: %v", ranges, a.header)
		}
	}
	if a := ask("bytes=0-1,-0"); a.status != 206 || string(a.body) != "01" || a.header.Get("Content-Range") != "bytes 0-1/10" {
		t.Errorf("none beside two bytes: %d %q %v", a.status, a.body, a.header)
	}
	if a := ask("bytes=-0", "If-Range", `"other"`); a.status != 200 || string(a.body) != "0123456789" {
		t.Errorf("a range of another content: %d %q", a.status, a.body)
	}
	if a := ask("bytes=" + strings.Repeat("0-0,", 15) + "1-1"); a.status != 200 && a.status != 206 {
		t.Errorf("16 ranges: %d %s", a.status, a.body)
	}
}

// TestSignedLink: a signature stands for a key, a wrong one is worth nothing.
func TestSignedLink(t *testing.T) {
	var got service.Link
	f := &fake{openLink: func(l service.Link) (*service.File, io.ReadSeekCloser, error) {
		got = l
		if l.Signature == "old" {
			return nil, nil, chargehand.NewError(chargehand.CodeResultExpired, "The link has expired.")
		}
		return fixtureFile(), fixtureContent(), nil
	}}
	s := newServer(t, f)
	a := request{path: pathF + "/content?signature=a%2Bb&expires=17", keyless: true}.to(s)
	if a.status != 200 || got != (service.Link{File: fileID, Expires: "17", Signature: "a+b", Redirect: true}) {
		t.Errorf("%d, link %+v", a.status, got)
	}
	wantProblem(t, request{path: pathF + "/content?signature=old", keyless: true}.to(s), 410, "result_expired")
	wantProblem(t, request{path: pathF + "/content?signature=%zz", keyless: true}.to(s), 400, "invalid_parameter")
	wantProblem(t, request{path: pathF + "/content?xsignature=a", keyless: true}.to(s), 401, "missing_api_key")
	wantProblem(t, request{path: pathF + "/content", keyless: true}.to(s), 401, "missing_api_key")
	wantProblem(t, request{path: pathF + "?signature=good", keyless: true}.to(s), 401, "missing_api_key")
	wantProblem(t, request{path: pathF + "/content?signature=good", keyless: true, header: map[string]string{"x-api-key": "wrong"}}.to(s), 401, "invalid_api_key")
	got = service.Link{}
	if a := (request{path: pathF + "/content?signature=whatever"}).to(s); a.status != 200 || got != (service.Link{}) {
		t.Errorf("with a key: %d, link %+v", a.status, got)
	}
}

func FuzzDisposition(f *testing.F) {
	for _, name := range []string{"", "a.txt", `"; filename=evil`, "a\r\nSet-Cookie: x=1", "ü€𝄞.pdf", "../../x", "100%", "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		value := service.Disposition(name)
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q: %q holds what no header may", name, value)
		}
		kind, params, err := mime.ParseMediaType(value)
		if err != nil || kind != "attachment" || params["filename"] == "" {
			t.Errorf("%q: %q: %v %v", name, value, params, err)
		}
		if want := strings.ToValidUTF8(name, "\ufffd"); name != "" && name == want && params["filename"] != name {
			t.Errorf("%q arrives as %q", name, params["filename"])
		}
	})
}

// TestRedirect: a GET of a signed link is redirected to where the content is; no other
// request is, and neither is one with a key.
func TestRedirect(t *testing.T) {
	const there = "https://bucket.example.com/ab/cd?X-Amz-Signature=s"
	s := newServer(t, &fake{openLink: func(l service.Link) (*service.File, io.ReadSeekCloser, error) {
		f := fixtureFile()
		if !l.Redirect {
			return f, fixtureContent(), nil
		}
		f.Location = there
		return f, nil, nil
	}})
	a := request{path: pathF + "/content?signature=good&expires=17", keyless: true}.to(s)
	if a.status != 302 || a.header.Get("Location") != there || a.header.Get("Cache-Control") != "no-store" || len(a.body) != 0 {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	for name, r := range map[string]request{
		"HEAD":     {method: "HEAD", path: pathF + "/content?signature=good&expires=17", keyless: true},
		"with key": {path: pathF + "/content"},
	} {
		if a := r.to(s); a.status != 200 || a.header.Get("Location") != "" {
			t.Errorf("%s: %d %v", name, a.status, a.header)
		}
	}
}

// TestUploadsWithoutAType: what names no single type is kept as octets.
func TestUploadsWithoutAType(t *testing.T) {
	var got string
	s := newServer(t, &fake{uploadFile: func(r service.UploadFile) (*service.File, bool, error) {
		got = r.ContentType
		_, err := io.Copy(io.Discard, r.Content)
		return fixtureFile(), false, err
	}})
	const octets = "application/octet-stream"
	for sent, want := range map[string]string{
		"": octets, "*/*": octets, "image/*": octets, "image": octets, "image/": octets, "/png": octets, "text/plain;charset": octets,
		"image/png": "image/png", "text/plain; charset=utf-8": "text/plain; charset=utf-8",
	} {
		r := request{method: "POST", path: "/api/v1/files?filename=a", body: "x"}.http()
		r.Header["Content-Type"] = []string{sent}
		if sent == "" {
			r.Header.Del("Content-Type")
		}
		if a := serve(s, r); a.status != 201 || got != want {
			t.Errorf("%q: %d, kept as %q, want %q", sent, a.status, got, want)
		}
		form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\nContent-Type: " + sent + "\r\n\r\nx\r\n--b--\r\n"
		a := request{method: "POST", path: "/api/v1/files", body: form, header: map[string]string{"Content-Type": "multipart/form-data; boundary=b"}}.to(s)
		if a.status != 201 || got != want {
			t.Errorf("%q in a form: %d, kept as %q, want %q", sent, a.status, got, want)
		}
	}
}
