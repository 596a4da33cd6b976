package bucket_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/blob/blobtest"
	"github.com/chargehand/chargehand/internal/blob/bucket"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/s3client"
)

func openBucket(t *testing.T, address string, c blob.Config) *blob.Store {
	t.Helper()
	l, err := blob.ParseLocation(address)
	if err != nil {
		t.Fatal(err)
	}
	if c.Folder == "" {
		c.Folder = t.TempDir()
	}
	s, err := bucket.Open(t.Context(), l, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestS3(t *testing.T) {
	server := peer.StartS3(t)
	for name, parameters := range map[string][]string{"bucket": nil, "prefix": {"prefix", "flows/files"}} {
		t.Run(name, func(t *testing.T) {
			blobtest.Run(t, func(t *testing.T) blobtest.Opener {
				b := server.NewBucket(t)
				b.Setenv(t)
				return func(t *testing.T, protect blob.Protect) *blob.Store {
					return openBucket(t, b.URL(parameters...), blob.Config{Protect: protect})
				}
			})
		})
	}
}

func objects(t *testing.T, server *peer.S3, b peer.Bucket) (keys []string) {
	t.Helper()
	page, err := s3client.New(server).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.Name})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range page.Contents {
		keys = append(keys, aws.ToString(o.Key))
	}
	return keys
}

// uploads is the number of uploads in parts that are neither completed nor given up.
func uploads(t *testing.T, server *peer.S3, b peer.Bucket) int {
	t.Helper()
	page, err := s3client.New(server).ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &b.Name})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Uploads)
}

func TestS3HoldsDigestsUnderItsPrefixOnly(t *testing.T) {
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	s := openBucket(t, b.URL("prefix", "a/b"), blob.Config{})
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	if err != nil {
		t.Fatal(err)
	}
	text := d.String()
	if got, want := fmt.Sprint(objects(t, server, b)), fmt.Sprint([]string{"a/b/" + text[:2] + "/" + text[2:]}); got != want {
		t.Errorf("the bucket holds %s, want %s", got, want)
	}
	beside := openBucket(t, b.URL("prefix", "a/c"), blob.Config{})
	if _, err := beside.Size(t.Context(), d); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("another prefix: %v, want ErrNotFound", err)
	}
}

func TestS3WithoutChecksumsOfTheSDK(t *testing.T) {
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
	t.Setenv("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required")
	s := openBucket(t, b.URL(), blob.Config{})
	for _, size := range []int{0, 1000, 20 << 20} {
		content := blobtest.Noise(size)
		d, _, err := s.Put(t.Context(), bytes.NewReader(content), 1<<30)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, err := readAll(t, s, d); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes come back as %d, %v", size, len(got), err)
		}
	}
}

// broken is a store behind a proxy that can be broken.
func broken(t *testing.T) (*blob.Store, *peer.Faulty, *peer.S3, peer.Bucket) {
	t.Helper()
	server := peer.StartS3(t)
	proxy := peer.NewFaulty(t, server.Endpoint)
	b := server.NewBucket(t)
	b.Setenv(t)
	return openBucket(t, b.Through(proxy).URL(), blob.Config{MaxPause: 20 * time.Millisecond}), proxy, server, b
}

func TestS3GoesOnAfterShortFaults(t *testing.T) {
	s, proxy, server, b := broken(t)
	small, large := blobtest.Noise(1<<20-1), blobtest.Noise(40<<20)
	for _, c := range []struct {
		what    string
		content []byte
		fault   peer.Fault
	}{
		{"503 to a small Put", small[1:], peer.Fault{Kind: "PutObject", Status: 503, Times: 2}},
		{"a cut in a small Put", small[2:], peer.Fault{Kind: "PutObject", Cut: 100_000, Times: 1}},
		{"503 to the begin of a large Put", large[1:], peer.Fault{Kind: "CreateMultipartUpload", Status: 503, Times: 1}},
		{"cuts in parts", large[2:], peer.Fault{Kind: "UploadPart", Cut: 5 << 20, Times: 2}},
		{"a lost answer to the completion", large[3:], peer.Fault{Kind: "CompleteMultipartUpload", Status: 500, Times: 1}},
	} {
		proxy.Break(c.fault)
		before := proxy.Count(c.fault.Kind)
		d, size, err := s.Put(t.Context(), bytes.NewReader(c.content), 1<<30)
		if err != nil || size != int64(len(c.content)) || d.Sum != sha256.Sum256(c.content) {
			t.Fatalf("%s: %s with %d bytes, %v", c.what, d, size, err)
		}
		if proxy.Count(c.fault.Kind)-before < 2 {
			t.Errorf("%s: the fault was not met", c.what)
		}
	}
	if n := uploads(t, server, b); n != 0 {
		t.Errorf("%d uploads are open", n)
	}

	d := blob.Digest{Sum: sha256.Sum256(large[1:])}
	proxy.Break(peer.Fault{Kind: "GetObject", Cut: 3 << 20, Times: 3})
	r, err := s.Open(t.Context(), d, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, large[1:]) {
		t.Errorf("a Get that is cut three times gives %d bytes, %v", len(got), err)
	}
	proxy.Break(peer.Fault{Kind: "GetObject", Cut: 1 << 20, Times: 1})
	part, err := s.Open(t.Context(), d, 7, 5<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, large[8:8+5<<20]) {
		t.Errorf("a range that is cut gives %d bytes, %v", len(got), err)
	}
}

func TestS3PutThatIsCutOffLeavesNothing(t *testing.T) {
	s, proxy, server, b := broken(t)
	for size, kind := range map[int]string{100_000: "PutObject", 20 << 20: "UploadPart"} {
		proxy.Break(peer.Fault{Kind: kind, Cut: 50_000})
		if _, _, err := s.Put(t.Context(), bytes.NewReader(blobtest.Noise(size)), 1<<30); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("a Put of %d bytes that is always cut: %v, want ErrUnavailable", size, err)
		}
	}
	proxy.Heal()
	if keys := objects(t, server, b); len(keys) != 0 {
		t.Errorf("the bucket shows %v", keys)
	}
	if n := uploads(t, server, b); n != 0 {
		t.Errorf("%d uploads are open", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := &cancelledBehind{Reader: bytes.NewReader(blobtest.Noise(20 << 20)), cancel: cancel}
	if _, _, err := s.Put(ctx, cancelling, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("a Put that is cancelled: %v", err)
	}
	if keys := objects(t, server, b); len(keys) != 0 {
		t.Errorf("after the cancelled Put the bucket shows %v", keys)
	}
}

// cancelledBehind cancels when all has been read, so that the upload is what is cancelled.
type cancelledBehind struct {
	io.Reader
	cancel func()
}

func (c *cancelledBehind) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF {
		c.cancel()
	}
	return n, err
}

func TestS3Unavailable(t *testing.T) {
	s, proxy, server, _ := broken(t)
	content := []byte("content")
	d, _, err := s.Put(t.Context(), bytes.NewReader(content), 100)
	if err != nil {
		t.Fatal(err)
	}
	fails := func(what string) {
		t.Helper()
		_, _, put := s.Put(t.Context(), strings.NewReader("other"), 100)
		_, open := s.Open(t.Context(), d, 0, -1)
		_, size := s.Size(t.Context(), d)
		for method, err := range map[string]error{
			"Put": put, "Open": open, "Size": size, "Delete": s.Delete(t.Context(), d), "Check": s.Check(t.Context()),
			"List": s.List(t.Context(), func(blob.Content) error { return nil }),
		} {
			if !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrRefused) || errors.Is(err, blob.ErrOneFile) || errors.Is(err, blob.ErrNotFound) {
				t.Errorf("%s while %s: %v, want ErrUnavailable alone", method, what, err)
			}
		}
	}
	proxy.Break(peer.Fault{Status: http.StatusServiceUnavailable})
	fails("it answers 503")
	proxy.Heal()
	server.Kill()
	fails("it is down")
	server.Restart()
	r, err := s.Open(t.Context(), d, 0, -1)
	if err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

// TestS3Silence: a request without an answer is repeated; a slow one that moves is not.
func TestS3Silence(t *testing.T) {
	server := peer.StartS3(t)
	proxy := peer.NewFaulty(t, server.Endpoint)
	b := server.NewBucket(t)
	b.Setenv(t)
	const silence = 300 * time.Millisecond
	s := openBucket(t, b.Through(proxy).URL(), blob.Config{MaxPause: time.Millisecond, MaxSilence: silence})
	content := blobtest.Noise(1 << 20)
	proxy.Break(peer.Fault{Kind: "PutObject", Delay: time.Hour, Times: 1})
	d, _, err := s.Put(t.Context(), bytes.NewReader(content[1:]), 1<<30)
	if err != nil || proxy.Count("PutObject") != 2 {
		t.Errorf("a Put that hangs once: %v after %d requests", err, proxy.Count("PutObject"))
	}
	if got, err := readAll(t, s, d); err != nil || !bytes.Equal(got, content[1:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	proxy.Break(peer.Fault{Kind: "GetObject", Delay: time.Hour})
	start := time.Now()
	if _, err := s.Open(t.Context(), d, 0, -1); !errors.Is(err, blob.ErrUnavailable) || time.Since(start) > 20*silence {
		t.Errorf("a Get that always hangs: %v after %v", err, time.Since(start))
	}
	proxy.Heal()
	r, err := s.Open(t.Context(), d, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got bytes.Buffer
	slow := time.NewTicker(silence / 4)
	defer slow.Stop()
	before := proxy.Count("GetObject")
	for range 8 { // a reader that takes its time, longer than the silence in all
		<-slow.C
		if _, err := io.CopyN(&got, r, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := got.ReadFrom(r); err != nil || !bytes.Equal(got.Bytes(), content[1:]) || proxy.Count("GetObject") != before {
		t.Errorf("a slow reader gets %d bytes, %v, with %d more requests", got.Len(), err, proxy.Count("GetObject")-before)
	}
}

func TestS3RefusedIsNoMissingContent(t *testing.T) {
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	noBucket := b
	noBucket.Name = "there-is-none"
	for _, c := range []struct{ what, address, secret string }{
		{"a bucket that is missing", noBucket.URL(), ""},
		{"a wrong key", b.URL(), "wrong"},
	} {
		if c.secret != "" {
			t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
		}
		s := openBucket(t, c.address, blob.Config{})
		if err := s.Check(t.Context()); !errors.Is(err, blob.ErrRefused) || !strings.Contains(err.Error(), s.String()) {
			t.Errorf("%s: Check says %v", c.what, err)
		}
		_, _, put := s.Put(t.Context(), strings.NewReader("x"), 10)
		_, open := s.Open(t.Context(), blob.Digest{}, 0, -1)
		for method, err := range map[string]error{"Put": put, "Open": open} {
			if !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) {
				t.Errorf("%s: %s: %v, want ErrUnavailable", c.what, method, err)
			}
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	l, err := blob.ParseLocation(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Open(t.Context(), l, blob.Config{Folder: t.TempDir()}); !errors.Is(err, blob.ErrRefused) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("no credentials: %v", err)
	}
}

func TestS3WrongContent(t *testing.T) {
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	var logged bytes.Buffer
	s := openBucket(t, b.URL(), blob.Config{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	for _, right := range []string{"the right content", ""} {
		d := blob.Digest{Sum: sha256.Sum256([]byte(right))}
		for _, wrong := range []string{"the WRONG content", "longer than " + right, "x", ""} {
			if right == wrong {
				continue
			}
			text := d.String()
			_, err := s3client.New(server).PutObject(t.Context(), &s3.PutObjectInput{
				Bucket: &b.Name, Key: aws.String(text[:2] + "/" + text[2:]), Body: strings.NewReader(wrong),
			})
			if err != nil {
				t.Fatal(err)
			}
			logged.Reset()
			got, err := readAll(t, s, d)
			if !errors.Is(err, blob.ErrDamaged) || len(got) >= len(wrong) && wrong != "" {
				t.Errorf("%q in the place of %q: %q, %v, want ErrDamaged", wrong, right, got, err)
			}
			if !strings.Contains(logged.String(), text) {
				t.Errorf("the log does not name the content: %q", logged.String())
			}
		}
		// The next Put of the right content repairs it.
		if _, _, err := s.Put(t.Context(), strings.NewReader(right), 100); err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(t, s, d); err != nil || string(got) != right {
			t.Errorf("repaired: %q, %v", got, err)
		}
	}
}

func readAll(t *testing.T, s *blob.Store, d blob.Digest) ([]byte, error) {
	t.Helper()
	r, err := s.Open(t.Context(), d, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func TestS3DropUnfinished(t *testing.T) {
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	for _, key := range []string{"p/" + strings.Repeat("a", 2) + "/" + strings.Repeat("b", 62), "p/of-another"} {
		if _, err := s3client.New(server).CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &b.Name, Key: aws.String(key)}); err != nil {
			t.Fatal(err)
		}
	}
	young := openBucket(t, b.URL("prefix", "p"), blob.Config{})
	if err := young.DropUnfinished(t.Context(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := uploads(t, server, b); n != 2 {
		t.Errorf("%d uploads are left of 2 young ones", n)
	}
	old := openBucket(t, b.URL("prefix", "p"), blob.Config{})
	if err := old.DropUnfinished(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := uploads(t, server, b); n != 1 {
		t.Errorf("%d uploads are left, want that of another installation", n)
	}
}

func TestS3Address(t *testing.T) {
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	s := openBucket(t, b.URL("prefix", "p"), blob.Config{})
	d, _, err := s.Put(t.Context(), strings.NewReader("0123456789"), 100)
	if err != nil {
		t.Fatal(err)
	}
	const disposition = `attachment; filename="_.txt"; filename*=UTF-8''%C3%A4.txt`
	address, err := s.Address(t.Context(), d, blob.Download{Disposition: disposition, ContentType: "text/plain; charset=utf-8", Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string]string{"": "0123456789", "bytes=2-4": "234"} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if of != "" {
			request.Header.Set("Range", of)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("range %q: %s %q, %v", of, response.Status, got, err)
		}
		if h := response.Header; h.Get("Content-Disposition") != disposition || h.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("served as %q, %q", h.Get("Content-Disposition"), h.Get("Content-Type"))
		}
	}
	response, err := http.Get(strings.Replace(address, d.String()[2:], strings.Repeat("0", 62), 1))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("the signature serves another content: %s", response.Status)
	}
	folder, err := blob.OpenFolder(blob.Config{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := folder.Address(t.Context(), d, blob.Download{}); !errors.Is(err, blob.ErrNoAddress) {
		t.Errorf("address in a folder: %v", err)
	}
}
