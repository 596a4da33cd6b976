package blackbox_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/s3client"
	"github.com/chargehand/chargehand/internal/servertest"
)

// TestFilesInS3 runs an installation whose files are in S3.
func TestFilesInS3(t *testing.T) {
	t.Parallel()
	server := peer.StartS3(t)
	t.Run("upload, execution, result", func(t *testing.T) { testFilesInBucket(t, server) })
	t.Run("redirect", func(t *testing.T) { testFilesRedirect(t, server) })
	t.Run("unavailable for a while", func(t *testing.T) { testFilesUnavailable(t, server) })
	t.Run("settings", func(t *testing.T) { testFilesSettings(t, server) })
	t.Run("doctor and backup", func(t *testing.T) { testFilesDoctor(t, server) })
}

// startOn starts a server whose files are in the bucket.
func startOn(t *testing.T, b peer.Bucket, args ...string) *server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Args: append([]string{"--files-url", b.URL("prefix", "flows")}, args...), Env: b.Env()})
}

// keys are the names of what a bucket holds.
func keys(t *testing.T, server *peer.S3, b peer.Bucket) (names []string) {
	t.Helper()
	page, err := s3client.New(server).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.Name})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range page.Contents {
		names = append(names, *o.Key)
	}
	return names
}

// large is a step whose output is too large for a row.
const large = "do:\n- large: {run: {script: {language: js, code: 'return \"x\".repeat(700000) + n;', arguments: {n: '${ .n }'}}}}\n"

func testFilesInBucket(t *testing.T, server *peer.S3) {
	b := server.NewBucket(t)
	s := startOn(t, b)
	content := strings.Repeat("0123456789", 200_000)
	file := upload(t, s, "Bücher.txt", "text/plain; charset=utf-8", content)
	e := ends(t, s, deploy(t, s, echo), `{"picture":`+reference(file)+`}`)
	result := fields(list(e["results"])[0])
	if got := download(t, s, result); string(got) != content {
		t.Errorf("the result has %d bytes, want %d", len(got), len(content))
	}
	a := plain(t, s, "GET", text(result["url"]), "Range", "bytes=1000003-1000006")
	if a.Status != 206 || string(a.Body) != "3456" || a.Header.Get("Content-Range") != "bytes 1000003-1000006/2000000" {
		t.Errorf("a range: %d %q %q", a.Status, a.Body, a.Header.Get("Content-Range"))
	}
	if a := plain(t, s, "GET", text(result["url"]), "Range", "bytes=-3"); a.Status != 206 || string(a.Body) != "789" {
		t.Errorf("the end: %d %q", a.Status, a.Body)
	}
	if a := plain(t, s, "GET", text(result["url"]), "Range", "bytes=2000000-"); a.Status != 416 {
		t.Errorf("behind the end: %d", a.Status)
	}
	big := ends(t, s, deploy(t, s, large), `{"n":7}`)
	if got := text(big["output"]); len(got) != 700_001 || !strings.HasSuffix(got, "x7") {
		t.Errorf("the large output has %d bytes", len(got))
	}

	digest := text(file["sha256"])
	names := keys(t, server, b)
	found := false
	for _, name := range names {
		found = found || name == "flows/"+digest[:2]+"/"+digest[2:]
		if !strings.HasPrefix(name, "flows/") || strings.Contains(name, "check") {
			t.Errorf("the bucket holds %s", name)
		}
	}
	if !found {
		t.Errorf("the file is not among %v", names)
	}
	left := 0
	err := filepath.WalkDir(filepath.Join(s.DataDir, "files"), func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left++
		}
		return err
	})
	if err != nil || left != 0 {
		t.Errorf("%d files are in the data directory (%v)", left, err)
	}
}

func testFilesRedirect(t *testing.T, server *peer.S3) {
	b := server.NewBucket(t)
	s := startOn(t, b, "--files-redirect")
	const content = "a,b\n1,2\n"
	file := upload(t, s, "Bücher.csv", "text/csv; charset=utf-8", content)
	e := ends(t, s, deploy(t, s, echo), reference(file))
	link := text(fields(list(e["results"])[0])["url"])
	sent := plain(t, s, "GET", link)
	to, err := url.Parse(sent.Header.Get("Location"))
	if err != nil || sent.Status != 302 || len(sent.Body) != 0 || sent.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", sent.Status, sent.Header, sent.Body)
	}
	if life := to.Query().Get("X-Amz-Expires"); !strings.HasPrefix(to.String(), server.Endpoint+"/"+b.Name+"/flows/") || life != "120" {
		t.Errorf("sent to %s for %s s", to, life)
	}
	if strings.Contains(to.String(), server.SecretKey) {
		t.Error("the address holds the secret key")
	}
	direct, err := http.Get(link) // follows, as a browser does
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(direct.Body)
	direct.Body.Close()
	if err != nil || direct.StatusCode != 200 || string(got) != content || direct.Request.URL.Host != to.Host {
		t.Errorf("%s from %s: %q, %v", direct.Status, direct.Request.URL.Host, got, err)
	}
	own := s.Do(t, "GET", "/files/"+text(file["id"])+"/content", "")
	if own.Status != 200 || string(own.Body) != content || own.Header.Get("Location") != "" {
		t.Errorf("with a key: %d %v", own.Status, own.Header)
	}
	for _, name := range []string{"Content-Type", "Content-Disposition"} {
		if direct.Header.Get(name) != own.Header.Get(name) || own.Header.Get(name) == "" {
			t.Errorf("%s is %q in the store and %q here", name, direct.Header.Get(name), own.Header.Get(name))
		}
	}
	if a := plain(t, s, "HEAD", link); a.Status != 200 || a.Header.Get("Content-Length") != "8" {
		t.Errorf("HEAD: %d %v", a.Status, a.Header)
	}
	// A small output is in no store, so it is served here; a wrong signature leads nowhere.
	small := ends(t, s, deploy(t, s, echo), `{"a":1}`)
	if a := plain(t, s, "GET", text(fields(list(small["results"])[0])["url"])); a.Status != 200 || string(a.Body) != `{"a":1}` {
		t.Errorf("output.json: %d %s", a.Status, a.Body)
	}
	if a := plain(t, s, "GET", link[:len(link)-1]+"!"); a.Status != 404 || a.Header.Get("Location") != "" {
		t.Errorf("a wrong signature: %d %v", a.Status, a.Header)
	}
}

func testFilesUnavailable(t *testing.T, server *peer.S3) {
	b, proxy := server.NewBucket(t), peer.NewFaulty(t, server.Endpoint)
	s := startOn(t, b.Through(proxy))
	file := upload(t, s, "kept.txt", "text/plain", "kept")
	flow := deploy(t, s, large)
	proxy.Break(peer.Fault{Status: http.StatusServiceUnavailable})
	asked := proxy.Count("PutObject")
	waiting := begin(t, s, flow, `{"n":1}`)
	a := s.Do(t, "POST", "/files?filename=new.txt", "new", "Content-Type", "text/plain")
	wantProblem(t, s, a, 503, "unavailable")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantProblem(t, s, s.Do(t, "GET", "/files/"+text(file["id"])+"/content", ""), 503, "unavailable")
	if proxy.Count("PutObject") == asked {
		t.Error("nothing asked the store meanwhile")
	}
	proxy.Heal()
	if e := finish(t, s, waiting); e["status"] != "finished" || len(text(e["output"])) != 700_001 {
		t.Errorf("the execution that waited: %v, %d bytes", e["status"], len(text(e["output"])))
	}
	upload(t, s, "new.txt", "text/plain", "new")
	if a := s.Do(t, "GET", "/files/"+text(file["id"])+"/content", ""); a.Status != 200 || string(a.Body) != "kept" {
		t.Errorf("afterwards: %d %q", a.Status, a.Body)
	}
}

func testFilesSettings(t *testing.T, server *peer.S3) {
	b := server.NewBucket(t)
	serve := func(code int, env []string, args ...string) string {
		t.Helper()
		cmd := command(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
		cmd.Env = append(cmd.Env, env...)
		return finishCommand(t, cmd).want(t, code, args).err
	}
	for address, says := range map[string]string{
		"s3://AKIA:S3cr3t@bucket": "AWS_ACCESS_KEY_ID", "s3://b?secret_access_key=S3cr3t": "AWS_ACCESS_KEY_ID",
		"gs://bucket": "s3", "s3://b?regoin=x": "parameter", "file:relative": "absolute",
	} {
		got := serve(2, b.Env(), "--files-url", address)
		if !strings.Contains(got, "--files-url") || !strings.Contains(got, says) || strings.Contains(got, "S3cr3t") {
			t.Errorf("%s: %s", address, got)
		}
	}
	if got := serve(2, nil, "--files-redirect"); !strings.Contains(got, "--files-redirect") {
		t.Errorf("a redirect to a folder: %s", got)
	}
	missing := b
	missing.Name = "there-is-none"
	if got := serve(1, b.Env(), "--files-url", missing.URL()); !strings.Contains(got, "--files-url") || !strings.Contains(got, `"there-is-none"`) || !strings.Contains(got, "write") {
		t.Errorf("a bucket that is missing: %s", got)
	}
	wrong := append(b.Env(), "AWS_SECRET_ACCESS_KEY=wrong")
	if got := serve(1, wrong, "--files-url", b.URL()); !strings.Contains(got, "--files-url") || !strings.Contains(got, b.Name) || strings.Contains(got, server.SecretKey) {
		t.Errorf("a wrong key: %s", got)
	}
	if got := serve(1, []string{"AWS_EC2_METADATA_DISABLED=true"}, "--files-url", b.URL()); !strings.Contains(got, "AWS_ACCESS_KEY_ID") {
		t.Errorf("no key: %s", got)
	}
	folder := filepath.Join(t.TempDir(), "elsewhere")
	s := servertest.Start(t, servertest.Options{Args: []string{"--files-url", "file://" + folder}})
	digest := text(upload(t, s, "a.txt", "text/plain", "in a folder")["sha256"])
	if _, err := os.Stat(filepath.Join(folder, "content", digest[:2], digest[2:])); err != nil {
		t.Errorf("the file is not in the folder: %v", err)
	}
}

func testFilesDoctor(t *testing.T, server *peer.S3) {
	b := server.NewBucket(t)
	s := startOn(t, b)
	upload(t, s, "a.txt", "text/plain", "content")
	if err := os.Chmod(s.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(code int, args ...string) said {
		t.Helper()
		cmd := command(t, nil, args...)
		cmd.Env = append(cmd.Env, b.Env()...)
		return finishCommand(t, cmd).want(t, code, args)
	}
	good := run(0, "doctor", "--data-dir", s.DataDir, "--files-url", b.URL("prefix", "flows"))
	if !strings.Contains(good.out, b.Name) || !strings.Contains(good.out, "files") {
		t.Errorf("doctor: %s", good.out)
	}
	missing := b
	missing.Name = "there-is-none"
	if bad := run(1, "doctor", "--data-dir", s.DataDir, "--files-url", missing.URL()); !strings.Contains(bad.out, "--files-url") || !strings.Contains(bad.out, "there-is-none") {
		t.Errorf("doctor of a missing bucket: %s", bad.out)
	}
	to := filepath.Join(t.TempDir(), "backup")
	if saved := run(0, "backup", to, "--data-dir", s.DataDir, "--files-url", b.URL("prefix", "flows")); !strings.Contains(saved.err, "1 file (7 bytes)") {
		t.Errorf("backup: %s", saved.err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	run(0, "restore", to, "--data-dir", restored)
	run(0, "doctor", "--data-dir", restored)
}
