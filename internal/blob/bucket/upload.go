package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/chargehand/chargehand/internal/blob"
)

const (
	// partBytes is the size of a part, and of the largest content that goes in one request.
	partBytes = 16 << 20
	maxParts  = 10_000 // of an upload (S3)
	// partsAtOnce is how many parts of one content are under way.
	partsAtOnce = 3
	// checkBytes is the size from which on it pays to ask first whether the content is there.
	checkBytes = 1 << 20
	// abortTime bounds the request that aborts an upload that failed.
	abortTime = 10 * time.Second
)

// Put uploads from the file, so that nothing of it is held in memory and what fails can be
// repeated. S3 shows an object when it is complete and durable, never before.
func (b backend) Put(ctx context.Context, path, key string, size int64) error {
	if size >= checkBytes {
		there, err := b.holds(ctx, key, size)
		if err != nil || there {
			return err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return blob.Unavailable(err)
	}
	defer f.Close()
	if size > partBytes {
		return b.putParts(ctx, f, key, size)
	}
	digest, err := checksum(f, key, size)
	if err != nil {
		return err
	}
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.Bucket, Key: b.name(key), Body: io.NewSectionReader(f, 0, size), ContentLength: aws.Int64(size),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(digest)), // the store refuses anything else
	})
	return fault(ctx, err)
}

// checksum is the SHA-256 of what is uploaded: a name of a content, unless that is sealed.
func checksum(f io.ReaderAt, key string, size int64) ([]byte, error) {
	name, err := blob.ParseKey(key)
	if err != nil || !name.Sealed() {
		return name, err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(f, 0, size)); err != nil {
		return nil, blob.Unavailable(err)
	}
	return hash.Sum(nil), nil
}

// holds tells whether there is an object of that size.
func (b backend) holds(ctx context.Context, key string, size int64) (bool, error) {
	found, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Bucket, Key: b.name(key)})
	if err := fault(ctx, err); err != nil {
		if errors.Is(err, blob.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	return aws.ToInt64(found.ContentLength) == size, nil
}

func (b backend) putParts(ctx context.Context, f io.ReaderAt, key string, size int64) (err error) {
	begun, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &b.Bucket, Key: b.name(key), ChecksumAlgorithm: b.algorithm(),
	})
	if err != nil {
		return fault(ctx, err)
	}
	u := upload{backend: b, id: begun.UploadId, key: b.name(key), from: f, size: size}
	defer func() {
		if err != nil {
			u.abort(ctx)
		}
	}()
	parts, err := u.send(ctx)
	if err != nil {
		return fault(ctx, err)
	}
	_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.Bucket, Key: u.key, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err == nil {
		return nil
	}
	// The answer may have been lost, and the repetition does not find the upload any more.
	if there, checkErr := b.holds(ctx, key, size); checkErr == nil && there {
		return nil
	}
	if err = fault(ctx, err); errors.Is(err, blob.ErrNotFound) {
		err = blob.Unavailable(err)
	}
	return err
}

// algorithm is what the SDK sums up parts with on their way; none if the environment says that
// the store does not know such sums (AWS_REQUEST_CHECKSUM_CALCULATION).
func (b backend) algorithm() types.ChecksumAlgorithm {
	if b.client.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired {
		return ""
	}
	return types.ChecksumAlgorithmCrc32
}

// upload is a content on its way in parts.
type upload struct {
	backend
	id, key *string
	from    io.ReaderAt
	size    int64
}

// send sends all parts, a few at once. The first error ends it.
func (u upload) send(ctx context.Context) ([]types.CompletedPart, error) {
	partSize := max(int64(partBytes), (u.size+maxParts-1)/maxParts)
	parts := make([]types.CompletedPart, (u.size+partSize-1)/partSize)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int, len(parts))
	for i := range parts {
		numbers <- i
	}
	close(numbers)
	var senders sync.WaitGroup
	for range min(partsAtOnce, len(parts)) {
		senders.Go(func() {
			for i := range numbers {
				if ctx.Err() != nil {
					return
				}
				start := int64(i) * partSize
				part, err := u.sendPart(ctx, int32(i+1), start, min(partSize, u.size-start))
				if err != nil {
					cancel(fmt.Errorf("part %d of %d: %w", i+1, len(parts), err))
					return
				}
				parts[i] = part
			}
		})
	}
	senders.Wait()
	return parts, context.Cause(ctx)
}

func (u upload) sendPart(ctx context.Context, number int32, start, size int64) (types.CompletedPart, error) {
	sent, err := u.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.Bucket, Key: u.key, UploadId: u.id, PartNumber: aws.Int32(number), ContentLength: aws.Int64(size),
		Body: io.NewSectionReader(u.from, start, size), ChecksumAlgorithm: u.algorithm(),
	})
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{ETag: sent.ETag, PartNumber: aws.Int32(number), ChecksumCRC32: sent.ChecksumCRC32}, nil
}

// abort lets the store drop the parts at once, also when the caller has gone. Where that
// fails, DropUnfinished does it a day later.
func (u upload) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_, _ = u.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.Bucket, Key: u.key, UploadId: u.id})
}
