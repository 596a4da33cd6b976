package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"

	"github.com/chargehand/chargehand/internal/blob"
)

// refusals are the codes of S3 that stay the same however often one asks.
var refusals = []string{
	"AccessDenied", "AccountProblem", "AllAccessDisabled", "AuthorizationHeaderMalformed", "Forbidden",
	"InvalidAccessKeyId", "InvalidBucketName", "InvalidToken", "NoSuchBucket", "PermanentRedirect", "SignatureDoesNotMatch",
}

// Fault makes an error of S3 one of the sentinel errors of package blob.
func (backend) Fault(err error) error {
	switch code := codeOf(err); {
	case slices.Contains(refusals, code):
		return blob.Refused(err) // also NoSuchBucket, which says nothing about a content
	case code == "NoSuchKey", code == "NotFound", code == "NoSuchUpload", gcerrors.Code(err) == gcerrors.NotFound:
		return fmt.Errorf("%w: %v", blob.ErrNotFound, err)
	}
	return blob.Unavailable(err)
}

// BeyondEnd tells whether S3 says that a range starts behind the end.
func (backend) BeyondEnd(err error) bool { return err != nil && codeOf(err) == "InvalidRange" }

// fault is Fault of an error that may be nil or come from ctx.
func fault(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %v", ctx.Err(), err)
	}
	return backend{}.Fault(err)
}

// codeOf is the code of an error of S3; empty: it is none.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}
