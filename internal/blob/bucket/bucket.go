package bucket

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
	gcblob "gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/chargehand/chargehand/internal/blob"
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

// backend puts contents into a bucket of an S3 store.
type backend struct {
	blob.Location
	client *s3.Client
}

// Open opens the store in the bucket of a Location. Nothing is asked of the bucket yet: see blob.Store.Check.
// Errors: blob.ErrUnavailable, and blob.ErrRefused where no repetition helps.
func Open(ctx context.Context, l blob.Location, c blob.Config) (*blob.Store, error) {
	client, err := newClient(ctx, l, c)
	if err != nil {
		return nil, fmt.Errorf("open blob store: %s: %w", l, err)
	}
	all, err := s3blob.OpenBucket(ctx, client, l.Bucket, nil)
	if err != nil {
		return nil, fmt.Errorf("open blob store: %s: %w", l, err)
	}
	if l.Prefix != "" {
		all = gcblob.PrefixedBucket(all, l.Prefix)
	}
	everything := []string{""} // a bucket lists its keys in order, in pages
	return blob.New(all, backend{Location: l, client: client}, everything, c)
}

// newClient finds credentials and region as the AWS SDK does. Errors: ErrRefused.
func newClient(ctx context.Context, l blob.Location, c blob.Config) (*s3.Client, error) {
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
		return nil, blob.Refused(err)
	}
	if l.Region != "" {
		settings.Region = l.Region
	}
	if settings.Region == "" && l.Endpoint != "" {
		settings.Region = fallbackRegion
	}
	if settings.Region == "" {
		return nil, blob.Refused(errors.New("the region is not known: add ?region=… to the address or set AWS_REGION"))
	}
	if _, err := settings.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, blob.Refused(fmt.Errorf("no credentials (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role): %w", err))
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

func (b backend) name(key string) *string { return aws.String(b.Prefix + key) }

// Check writes, reads, lists and deletes an object that is no content.
func (b backend) Check(ctx context.Context) error {
	text, key := "chargehand", b.name("check-"+strings.ToLower(rand.Text()))
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Bucket, Key: key, Body: strings.NewReader(text)})
	if err != nil {
		return fmt.Errorf("write an object: %w", fault(ctx, err))
	}
	read, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: key})
	if err == nil {
		read.Body.Close()
	}
	_, deleted := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Bucket, Key: key})
	_, listed := b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.Bucket, Prefix: b.name(""), MaxKeys: aws.Int32(1)})
	switch {
	case err != nil:
		return fmt.Errorf("read an object: %w", fault(ctx, err))
	case deleted != nil:
		return fmt.Errorf("delete an object: %w", fault(ctx, deleted))
	case listed != nil:
		return fmt.Errorf("list the bucket: %w", fault(ctx, listed))
	}
	return nil
}

// Sweep gives up uploads that were begun before that time and never completed: their parts
// cost money and no listing of contents shows them.
func (b backend) Sweep(ctx context.Context, before time.Time) error {
	uploads := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: &b.Bucket, Prefix: b.name("")})
	for uploads.HasMorePages() {
		page, err := uploads.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list unfinished uploads: %w", fault(ctx, err))
		}
		for _, u := range page.Uploads {
			if _, err := blob.ParseKey(strings.TrimPrefix(aws.ToString(u.Key), b.Prefix)); err != nil || !aws.ToTime(u.Initiated).Before(before) {
				continue
			}
			_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.Bucket, Key: u.Key, UploadId: u.UploadId})
			if err := fault(ctx, err); err != nil && !errors.Is(err, blob.ErrNotFound) {
				return fmt.Errorf("give up an unfinished upload: %w", err)
			}
		}
	}
	return nil
}

func (b backend) Address(ctx context.Context, key string, d blob.Download) (string, error) {
	signed, err := s3.NewPresignClient(b.client).PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.Bucket, Key: b.name(key),
		ResponseContentDisposition: aws.String(d.Disposition), ResponseContentType: aws.String(d.ContentType),
		ResponseCacheControl: aws.String("private, no-store"),
	}, s3.WithPresignExpires(d.Life))
	if err != nil {
		return "", fault(ctx, err)
	}
	return signed.URL, nil
}

func (b backend) Owner(ctx context.Context) (string, error) {
	read, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: b.name(blob.OwnerKey)})
	if err != nil {
		if err = fault(ctx, err); errors.Is(err, blob.ErrNotFound) {
			return "", nil
		}
		return "", err
	}
	defer read.Body.Close()
	data, err := io.ReadAll(io.LimitReader(read.Body, blob.MaxOwnerBytes))
	if err != nil {
		return "", fault(ctx, err)
	}
	return string(data), nil
}

func (b backend) Own(ctx context.Context, name string) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Bucket, Key: b.name(blob.OwnerKey), Body: strings.NewReader(name)})
	if err != nil {
		return fault(ctx, err)
	}
	return nil
}
