package blackbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

var fileShape = shape{
	"id": isUUID, "uri": isText, "name": isText, "url": isText, "size": isCount, "content_type": isText, "sha256": isText,
	"created_at": isMoment, "expires_at": isMoment, "reference": isObject,
}

// TestContractFiles holds the routes of files: raw or multipart, streamed, sha256.
func TestContractFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("raw", func(t *testing.T) { testRawUpload(t, s) })
	t.Run("multipart", func(t *testing.T) { testMultipart(t, s) })
	t.Run("names", func(t *testing.T) { testFileNames(t, s) })
	t.Run("large", func(t *testing.T) { testLargeUpload(t, s) })
	t.Run("cut off", func(t *testing.T) { testUploadCutOff(t, s) })
}

func testRawUpload(t *testing.T, s *server) {
	for _, content := range []string{"", "x", "line\r\n\x00\xff", strings.Repeat("0123456789", 50_000)} {
		a := s.Do(t, "POST", "/files?filename=a%20b.bin", content, "Content-Type", "application/octet-stream")
		wantStatus(t, a, 201)
		fileShape.verify(t, "file", a.JSON)
		f, sum := a.Object(), sha256.Sum256([]byte(content))
		digest := hex.EncodeToString(sum[:])
		if f["name"] != "a b.bin" || f["size"] != len(content) || f["sha256"] != digest || f["content_type"] != "application/octet-stream" {
			t.Errorf("%v", f)
		}
		if want := s.URL + "/api/v1/files/" + text(f["id"]); a.Header.Get("Location") != want {
			t.Errorf("Location %s", a.Header.Get("Location"))
		}
		r := fields(f["reference"])
		if r["uri"] != "/api/v1/files/"+text(f["id"]) || r["digest"] != "sha256:"+digest || r["mediaType"] != f["content_type"] || r["size"] != len(content) || r["name"] != "a b.bin" {
			t.Errorf("reference %v", r)
		}
		read := s.Do(t, "GET", "/files/"+text(f["id"]), "")
		wantStatus(t, read, 200)
		fileShape.verify(t, "file as read", read.JSON)
		got := s.Do(t, "GET", "/files/"+text(f["id"])+"/content", "")
		if got.Status != 200 || string(got.Body) != content {
			t.Errorf("%d bytes came back as %d", len(content), len(got.Body))
		}
	}
	a := s.Do(t, "POST", "/files", "x", "Content-Type", "")
	wantStatus(t, a, 201) // neither name nor type are needed
	if a.Object()["content_type"] != "application/octet-stream" || a.Object()["name"] == "" {
		t.Errorf("%s", a.Body)
	}
}

func testMultipart(t *testing.T, s *server) {
	form := func(parts ...string) answer {
		return s.Do(t, "POST", "/files", "--XX\r\n"+strings.Join(parts, "\r\n--XX\r\n")+"\r\n--XX--\r\n", "Content-Type", "multipart/form-data; boundary=XX")
	}
	const file = "Content-Disposition: form-data; name=\"f\"; filename=\"pic.png\"\r\nContent-Type: image/png\r\n\r\nPNG"
	const field = "Content-Disposition: form-data; name=\"note\"\r\n\r\nhello"
	for _, a := range []answer{form(file), form(field, file), form(file, field)} {
		wantStatus(t, a, 201)
		if f := a.Object(); f["name"] != "pic.png" || f["content_type"] != "image/png" || f["size"] != 3 {
			t.Errorf("%s", a.Body)
		}
	}
	for name, a := range map[string]answer{
		"no file": form(field), "two files": form(file, file), "no part": form(""), "no end": s.Do(t, "POST", "/files", "--XX\r\n"+file, "Content-Type", "multipart/form-data; boundary=XX"),
		"no boundary": s.Do(t, "POST", "/files", "x", "Content-Type", "multipart/form-data"), "empty": s.Do(t, "POST", "/files", "", "Content-Type", "multipart/form-data; boundary=XX"),
		"other boundary": s.Do(t, "POST", "/files", "--YY\r\n"+file+"\r\n--YY--", "Content-Type", "multipart/form-data; boundary=XX"),
	} {
		if a.Status != 400 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
			continue
		}
		wantProblem(t, s, a, 400, "invalid_body")
	}
}

// testFileNames: "filename is for display only".
func testFileNames(t *testing.T, s *server) {
	for sent, want := range map[string]string{
		"plain.txt": "plain.txt", "../../etc/passwd": "passwd", `C:\x\y.doc`: "y.doc", "/abs": "abs", "日本.txt": "日本.txt", "a;b\"c.txt": "a;b\"c.txt",
		"..": "file", ".": "file", "  ": "file", ".hidden": ".hidden", "a\u202etxt.exe": "atxt.exe",
	} {
		f := upload(t, s, sent, "text/plain", "x")
		if f["name"] != want {
			t.Errorf("%q became %q, want %q", sent, f["name"], want)
		}
		a := plain(t, s, "GET", text(f["url"]))
		wantStatus(t, a, 200)
		d := a.Header.Get("Content-Disposition")
		if !strings.HasPrefix(d, "attachment; ") || !strings.HasSuffix(d, "filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(want), "+", "%20")) {
			t.Errorf("%q: Content-Disposition %s", sent, d)
		}
	}
	for _, bad := range []string{strings.Repeat("n", 10_000), "a%00b", "a%0d%0ab", "%ff"} {
		a := s.Do(t, "POST", "/files?filename="+bad, "x", "Content-Type", "text/plain")
		wantParameter(t, wantProblem(t, s, a, 400, "invalid_parameter"), "filename")
	}
}

// testLargeUpload: streamed, beyond the limit of other bodies, also without a length.
func testLargeUpload(t *testing.T, s *server) {
	content := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
	f := upload(t, s, "large", "text/plain", content)
	if f["size"] != len(content) {
		t.Errorf("%v", f)
	}
	a := raw(t, s, "POST /api/v1/files?filename=chunked HTTP/1.1\r\n"+common(s)+"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
	wantStatus(t, a, 201)
	if a.Object()["size"] != 11 {
		t.Errorf("%s", a.Body)
	}
	if a := s.Do(t, "GET", "/limits", ""); !strings.Contains(string(a.Body), `"upload_bytes","value":1073741824`) {
		t.Errorf("uploads up to 1 GiB: %s", a.Body)
	}
	a = raw(t, s, "POST /api/v1/files HTTP/1.1\r\n"+common(s)+"Content-Length: 1073741825\r\n\r\n")
	wantProblem(t, s, a, 413, "payload_too_large") // before the rest is read
}

func testUploadCutOff(t *testing.T, s *server) {
	before := s.Do(t, "GET", "/limits", "")
	wantStatus(t, before, 200)
	a := raw(t, s, "POST /api/v1/files HTTP/1.1\r\n"+common(s)+"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n")
	if a.Status != 400 {
		t.Errorf("bad chunks: %d %s", a.Status, a.Body)
	}
}
