package bucket_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/blob/blobtest"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/s3client"
	"github.com/chargehand/chargehand/internal/secret"
)

func TestSealedS3(t *testing.T) {
	server := peer.StartS3(t)
	blobtest.Run(t, func(t *testing.T) blobtest.Opener {
		b, sealer := server.NewBucket(t), secret.NewSealer(secret.NewKeys())
		b.Setenv(t)
		return func(t *testing.T, protect blob.Protect) *blob.Store {
			return openBucket(t, b.URL(), blob.Config{Protect: protect, Sealer: sealer, Seal: true})
		}
	})
}

func TestSealedInABucket(t *testing.T) {
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	s := openBucket(t, b.URL(), blob.Config{Sealer: secret.NewSealer(secret.NewKeys()), Seal: true})
	const text = "what a user gave "         // so long that chance does not write it into 20 MiB of sealed bytes
	for _, n := range []int{100, 20 << 20} { // in one request, and in parts
		content := bytes.Repeat([]byte(text), n/len(text)+1)
		d, _, err := s.Put(t.Context(), bytes.NewReader(content), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Address(t.Context(), d, blob.Download{}); !errors.Is(err, blob.ErrNoAddress) {
			t.Errorf("a sealed content has an address: %v", err)
		}
		for _, key := range objects(t, server, b) {
			o, err := s3client.New(server).GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(o.Body)
			o.Body.Close()
			if err != nil || bytes.Contains(data, []byte(text[:12])) || strings.Contains(strings.ReplaceAll(key, "/", ""), d.String()[:8]) {
				t.Errorf("the object %s shows what is stored (%v)", key, err)
			}
		}
		end, err := s.Open(t.Context(), d, int64(len(content)-5), -1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(end)
		end.Close()
		if err != nil || !bytes.Equal(got, content[len(content)-5:]) {
			t.Errorf("the end of the content is %q, %v", got, err)
		}
	}
}
