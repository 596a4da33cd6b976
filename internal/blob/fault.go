package blob

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"
)

// refusals are the codes of S3 that stay the same however often one asks.
var refusals = []string{
	"AccessDenied", "AccountProblem", "AllAccessDisabled", "AuthorizationHeaderMalformed", "Forbidden",
	"InvalidAccessKeyId", "InvalidBucketName", "InvalidToken", "NoSuchBucket", "PermanentRedirect", "SignatureDoesNotMatch",
}

// mapError makes an error of a bucket one of the sentinel errors, or that of ctx.
func mapError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %v", ctx.Err(), err)
	case slices.Contains(refusals, codeOf(err)):
		return refused(err) // also NoSuchBucket, which says nothing about a content
	case codeOf(err) == "NoSuchKey", codeOf(err) == "NotFound", codeOf(err) == "NoSuchUpload", gcerrors.Code(err) == gcerrors.NotFound:
		return fmt.Errorf("%w: %v", ErrNotFound, err)
	}
	return unavailable(err)
}

// isBeyondEnd tells whether a range starts at or behind the end of a content.
func isBeyondEnd(err error) bool { return err != nil && codeOf(err) == "InvalidRange" }

// codeOf is the code of an error of S3; empty: it is none.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func unavailable(err error) error { return fmt.Errorf("%w: %v", ErrUnavailable, err) }

func refused(err error) error { return fmt.Errorf("%w: %w: %v", ErrUnavailable, ErrRefused, err) }
