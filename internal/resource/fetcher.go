package resource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"time"

	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/value"
)

// Config wires a Fetcher. Transport is required.
type Config struct {
	Transport http.RoundTripper
	// Auth resolves the authentication of resources; nil: one of the fetcher's own.
	Auth *credential.Source
	// Root is the folder below which file: and relative addresses are read; empty: none are.
	Root string
	// MaxBytes bounds one resource; default 1 MiB.
	MaxBytes int64
	// Timeout bounds one fetch with all its redirects; default 30 s.
	Timeout   time.Duration
	UserAgent string // default chargehand
}

// Fetcher reads resources.
type Fetcher struct{ cfg Config }

// New fills in the defaults of cfg.
func New(cfg Config) *Fetcher {
	if cfg.Auth == nil {
		cfg.Auth = credential.New(credential.Config{Transport: cfg.Transport})
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 20
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "chargehand"
	}
	return &Fetcher{cfg: cfg}
}

// Request names a resource.
type Request struct {
	URI            string
	Authentication value.Value // a policy as package credential reads it; nil: none
}

// Content is a resource as it was read.
type Content struct {
	Data      []byte
	MediaType string // without parameters, in lower case; application/octet-stream if unknown
	Digest    string // sha256: and 64 hexadecimal digits, of Data
	// URI is the address that it came from in the end, without user and fragment: relative
	// addresses in the resource refer to it.
	URI string

	fresh freshness
}

// Fetch reads a resource. Every error is an *Error.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (Content, error) {
	content, _, err := f.fetch(ctx, r, freshness{})
	return content, err
}

// fetch reads a resource unless it is still the one that known tells of.
func (f *Fetcher) fetch(ctx context.Context, r Request, known freshness) (content Content, same bool, err error) {
	u, parseErr := url.Parse(r.URI)
	if parseErr != nil || r.URI == "" {
		return Content{}, false, misconfigured(excerpt.Line(r.URI, maxShownBytes), "it is no address")
	}
	switch u.Scheme {
	case "http", "https":
		ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
		defer cancel()
		return f.fetchHTTP(ctx, r, u, known)
	case "file", "":
		content, err := f.readFile(u)
		return content, false, err
	}
	return Content{}, false, misconfigured(shown(u), "addresses of the scheme "+excerpt.Line(u.Scheme, maxShownBytes)+" cannot be fetched; https, http and file can")
}

func contentOf(data []byte, mediaType, uri string) Content {
	sum := sha256.Sum256(data)
	return Content{Data: data, MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), URI: uri}
}

// shown is an address without user, query and fragment, which may hold secrets.
func shown(u *url.URL) string {
	if u.Opaque != "" {
		return excerpt.Line(u.Scheme+":"+u.Opaque, maxShownBytes)
	}
	return excerpt.Line((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), maxShownBytes)
}
