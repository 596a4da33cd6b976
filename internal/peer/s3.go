package peer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// S3Region is the region that the server of the tests takes itself to be in.
const S3Region = "us-east-1"

// S3 is an S3 server (versitygw over a temporary folder).
type S3 struct {
	Endpoint             string // http://127.0.0.1:PORT; the same after Restart
	AccessKey, SecretKey string // made for this server
	process              *Process
	buckets              atomic.Int64
}

// Bucket is a fresh bucket of an S3 server.
type Bucket struct {
	Name     string
	server   *S3
	endpoint string
}

// StartS3 starts an S3 server, which ends with the test.
func StartS3(tb testing.TB) *S3 {
	tb.Helper()
	path := Program(tb, "versitygw")
	address := fmt.Sprintf("127.0.0.1:%d", FreePort(tb))
	objects, metadata := tb.TempDir(), tb.TempDir()
	s := &S3{Endpoint: "http://" + address, AccessKey: "key" + rand.Text(), SecretKey: rand.Text()}
	health := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	s.process = &Process{
		TB: tb,
		Command: func() *exec.Cmd {
			// Metadata is in a folder beside, because not every file system of a temporary
			// folder has extended attributes.
			cmd := exec.Command(path, "--port", address, "--region", S3Region, "--health", "/health",
				"--keep-alive", "--quiet", "posix", "--sidecar", metadata, objects)
			cmd.Env = []string{"ROOT_ACCESS_KEY=" + s.AccessKey, "ROOT_SECRET_KEY=" + s.SecretKey, "PATH=/usr/bin:/bin"}
			return cmd
		},
		Ready: func() error {
			r, err := health.Get(s.Endpoint + "/health")
			if err != nil {
				return err
			}
			r.Body.Close()
			if r.StatusCode != http.StatusOK {
				return fmt.Errorf("its health is %s", r.Status)
			}
			return nil
		},
	}
	s.process.Start()
	tb.Cleanup(s.Kill)
	return s
}

// Kill ends the server at once, as kill -9 does. Objects stay.
func (s *S3) Kill() { s.process.Signal(syscall.SIGKILL) }

// Stop lets the server end what it does.
func (s *S3) Stop() { s.process.Signal(syscall.SIGTERM) }

// Restart brings the server back at the same address, with the same objects.
func (s *S3) Restart() {
	s.Kill()
	s.process.Start()
}

// NewBucket makes a bucket.
func (s *S3) NewBucket(tb testing.TB) Bucket {
	tb.Helper()
	name := fmt.Sprintf("bucket-%d-%s", s.buckets.Add(1), strings.ToLower(rand.Text()[:8]))
	if err := s.makeBucket(tb.Context(), name); err != nil {
		tb.Fatalf("make a bucket: %v", err)
	}
	return Bucket{Name: name, server: s, endpoint: s.Endpoint}
}

// makeBucket sends the one request that makes a bucket. The whole client of S3 would take longer to compile for each
// test than all the rest of this package (package s3client).
func (s *S3) makeBucket(ctx context.Context, name string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, s.Endpoint+"/"+name, http.NoBody)
	if err != nil {
		return err
	}
	nothing := sha256.Sum256(nil)
	digest := hex.EncodeToString(nothing[:])
	r.Header.Set("X-Amz-Content-Sha256", digest)
	account := aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey}
	if err := v4.NewSigner().SignHTTP(ctx, account, r, digest, "s3", S3Region, time.Now()); err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", answer.Status)
	}
	return nil
}

// Through is the same bucket, reached through a proxy.
func (b Bucket) Through(f *Faulty) Bucket {
	b.endpoint = f.URL
	return b
}

// URL is the value of --files-url, with more parameters ("prefix", "a/b").
func (b Bucket) URL(parameters ...string) string {
	query := url.Values{"endpoint": {b.endpoint}, "region": {S3Region}}
	for i := 0; i+1 < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	return "s3://" + b.Name + "?" + query.Encode()
}

// Env is the environment with the credentials of the bucket, and without any others.
func (b Bucket) Env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + b.server.AccessKey, "AWS_SECRET_ACCESS_KEY=" + b.server.SecretKey,
		"AWS_SESSION_TOKEN=", "AWS_PROFILE=", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null",
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// Setenv gives the credentials to the test itself.
func (b Bucket) Setenv(t *testing.T) {
	t.Helper()
	for _, entry := range b.Env() {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
}
