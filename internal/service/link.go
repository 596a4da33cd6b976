package service

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
)

// linkLife is how long a signed link is valid.
const linkLife = time.Hour

// disposition is how the content of links is served; it is part of the signature.
const disposition = "attachment"

// Link is the query of a signed address: /api/v1/files/{id}/content?expires=…&signature=…
type Link struct {
	File      chargehand.FileID
	Expires   string // seconds since 1970
	Signature string
	// Redirect: the caller can be sent to where the content is (Config.RedirectLinks).
	Redirect bool
}

// locationLife is how long the address of a content in its own store is valid: long enough to
// follow it at once, too short to pass it on.
const locationLife = 2 * time.Minute

// link makes a signed address.
func (s *Service) link(base string, kind blob.LinkKind, env chargehand.Environment, id chargehand.FileID, expires time.Time) string {
	signature := s.signer.Sign(blob.Link{
		Kind: kind, Environment: env, ID: id, ExpiresUnix: expires.Unix(), Disposition: disposition,
	})
	return base + filesPath + id.String() + "/content?expires=" + strconv.FormatInt(expires.Unix(), 10) + "&signature=" + signature
}

// linkExpiry is when a link that is made now ends: a whole second, not less than an hour away.
func linkExpiry(now time.Time) time.Time {
	return now.Add(linkLife + time.Second - time.Nanosecond).Truncate(time.Second).UTC()
}

// OpenLink opens the content of a file by a signed address, without a key. With l.Redirect,
// where links are redirected, it opens nothing and sets Location of the file instead.
// Codes: file_not_found (also: wrong signature), result_expired (the link is too old).
func (s *Service) OpenLink(ctx context.Context, l Link) (*File, io.ReadSeekCloser, error) {
	expires, err := strconv.ParseInt(l.Expires, 10, 64)
	if err != nil || strconv.FormatInt(expires, 10) != l.Expires {
		return nil, nil, fileNotFound()
	}
	// The address does not tell kind and environment, but the signature covers them.
	signed := blob.Link{ID: l.File, ExpiresUnix: expires, Disposition: disposition}
	for _, signed.Kind = range [...]blob.LinkKind{blob.LinkFile, blob.LinkOutput} {
		for _, signed.Environment = range [...]chargehand.Environment{chargehand.Live, chargehand.Test} {
			err := s.signer.Verify(signed, l.Signature, s.now())
			if errors.Is(err, blob.ErrExpired) {
				return nil, nil, chargehand.NewError(chargehand.CodeResultExpired,
					"The link has expired. Read the execution again to get a fresh one.")
			}
			if err == nil {
				scope := fileScope{env: signed.Environment, kind: signed.Kind}
				if l.Redirect && s.redirect {
					scope.locate = min(locationLife, time.Unix(expires, 0).Sub(s.now()))
				}
				return s.open(ctx, scope, l.File)
			}
		}
	}
	return nil, nil, fileNotFound()
}

// locate describes a file with the address of its content in its own store. Codes: unavailable.
func (s *Service) locate(ctx context.Context, row *store.File, life time.Duration) (*File, error) {
	f := describeFile(row)
	var err error
	f.Location, err = s.blobs.Address(ctx, blob.DigestOf(row.Digest), blob.Download{
		Disposition: Disposition(row.Name), ContentType: row.MediaType, Life: life,
	})
	return f, storageError(blobError(err))
}
