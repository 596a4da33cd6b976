package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

// Bounds of one operation on S3: a request without progress ends after Config.MaxSilence and
// is repeated maxAttempts-1 times, with growing pauses of at most Config.MaxPause.
const (
	connectTime    = 5 * time.Second
	defaultSilence = 10 * time.Second
	defaultPause   = time.Second
	maxAttempts    = 4
)

// fallbackRegion is signed where a store has no regions.
const fallbackRegion = "us-east-1"

// bucket puts contents into a bucket of an S3 store.
type bucket struct {
	Location
	client *s3.Client
}

func openBucket(ctx context.Context, l Location, c Config) (*Store, error) {
	incoming, err := makeIncoming(c.Folder)
	if err != nil {
		return nil, err
	}
	client, err := newClient(ctx, l, c)
	if err != nil {
		return nil, fmt.Errorf("open blob store: %s: %w", l, err)
	}
	all, err := s3blob.OpenBucket(ctx, client, l.Bucket, nil)
	if err != nil {
		return nil, fmt.Errorf("open blob store: %s: %w", l, err)
	}
	if l.Prefix != "" {
		all = blob.PrefixedBucket(all, l.Prefix)
	}
	s := c.store(all, bucket{Location: l, client: client}, incoming)
	s.prefixes = []string{""} // a bucket lists its keys in order, in pages
	return s, nil
}

// newClient finds credentials and region as the AWS SDK does. Errors: ErrRefused.
func newClient(ctx context.Context, l Location, c Config) (*s3.Client, error) {
	if c.MaxPause == 0 {
		c.MaxPause = defaultPause
	}
	if c.MaxSilence == 0 {
		c.MaxSilence = defaultSilence
	}
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		dialer := &net.Dialer{Timeout: connectTime}
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return progressConn{conn, c.MaxSilence}, nil
		}
		t.ForceAttemptHTTP2 = false // a deadline would hit all requests of the connection
		t.MaxIdleConnsPerHost = 64
		t.IdleConnTimeout = c.MaxSilence * 4 / 5 // so that no connection is used in its last moment
	})
	settings, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport), config.WithRetryer(func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = maxAttempts, c.MaxPause })
	}))
	if err != nil {
		return nil, refused(err)
	}
	if l.Region != "" {
		settings.Region = l.Region
	}
	if settings.Region == "" && l.Endpoint != "" {
		settings.Region = fallbackRegion
	}
	if settings.Region == "" {
		return nil, refused(errors.New("the region is not known: add ?region=… to the address or set AWS_REGION"))
	}
	if _, err := settings.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, refused(fmt.Errorf("no credentials (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role): %w", err))
	}
	return s3.NewFromConfig(settings, func(o *s3.Options) {
		o.UsePathStyle = l.PathStyle
		if l.Endpoint != "" {
			o.BaseEndpoint = aws.String(l.Endpoint)
		}
	}), nil
}

// progressConn ends a connection on which nothing moves for too long.
type progressConn struct {
	net.Conn
	silence time.Duration
}

func (c progressConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also moves the deadline of a read that waits for the answer to what is being written.
func (c progressConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (b bucket) name(key string) *string { return aws.String(b.Prefix + key) }

// check writes, reads, lists and deletes an object that is no content.
func (b bucket) check(ctx context.Context) error {
	text, key := "chargehand", b.name("check-"+strings.ToLower(rand.Text()))
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Bucket, Key: key, Body: strings.NewReader(text)})
	if err != nil {
		return fmt.Errorf("write an object: %w", mapError(ctx, err))
	}
	read, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: key})
	if err == nil {
		read.Body.Close()
	}
	_, deleted := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Bucket, Key: key})
	_, listed := b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.Bucket, Prefix: b.name(""), MaxKeys: aws.Int32(1)})
	switch {
	case err != nil:
		return fmt.Errorf("read an object: %w", mapError(ctx, err))
	case deleted != nil:
		return fmt.Errorf("delete an object: %w", mapError(ctx, deleted))
	case listed != nil:
		return fmt.Errorf("list the bucket: %w", mapError(ctx, listed))
	}
	return nil
}

// sweep gives up uploads that were begun before that time and never completed: their parts
// cost money and no listing of contents shows them.
func (b bucket) sweep(ctx context.Context, before time.Time) error {
	uploads := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: &b.Bucket, Prefix: b.name("")})
	for uploads.HasMorePages() {
		page, err := uploads.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list unfinished uploads: %w", mapError(ctx, err))
		}
		for _, u := range page.Uploads {
			if _, err := parseKey(strings.TrimPrefix(aws.ToString(u.Key), b.Prefix)); err != nil || !aws.ToTime(u.Initiated).Before(before) {
				continue
			}
			_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.Bucket, Key: u.Key, UploadId: u.UploadId})
			if err := mapError(ctx, err); err != nil && !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("give up an unfinished upload: %w", err)
			}
		}
	}
	return nil
}

func (b bucket) address(ctx context.Context, key string, d Download) (string, error) {
	signed, err := s3.NewPresignClient(b.client).PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.Bucket, Key: b.name(key),
		ResponseContentDisposition: aws.String(d.Disposition), ResponseContentType: aws.String(d.ContentType),
		ResponseCacheControl: aws.String("private, no-store"),
	}, s3.WithPresignExpires(d.Life))
	if err != nil {
		return "", mapError(ctx, err)
	}
	return signed.URL, nil
}

func (b bucket) owner(ctx context.Context) (string, error) {
	read, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: b.name(ownerKey)})
	if err != nil {
		if err = mapError(ctx, err); errors.Is(err, ErrNotFound) {
			return "", nil
		}
		return "", err
	}
	defer read.Body.Close()
	data, err := io.ReadAll(io.LimitReader(read.Body, maxOwnerBytes))
	if err != nil {
		return "", mapError(ctx, err)
	}
	return string(data), nil
}

func (b bucket) own(ctx context.Context, name string) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Bucket, Key: b.name(ownerKey), Body: strings.NewReader(name)})
	if err != nil {
		return mapError(ctx, err)
	}
	return nil
}
