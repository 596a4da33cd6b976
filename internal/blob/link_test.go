package blob_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
)

func link() blob.Link {
	return blob.Link{Kind: blob.LinkFile, Environment: chargehand.Live, ID: [16]byte{1, 2, 3}, ExpiresUnix: 2_000_000_000, Disposition: "attachment"}
}

func TestSign(t *testing.T) {
	s := blob.NewSigner(make([]byte, 32))
	before := time.Unix(1_999_999_999, 0)
	signature := s.Sign(link())
	if err := s.Verify(link(), signature, before); err != nil {
		t.Errorf("a good link: %v", err)
	}
	if url.QueryEscape(signature) != signature || len(signature) != 43 {
		t.Errorf("signature %q needs escaping or has %d characters", signature, len(signature))
	}
	if err := s.Verify(link(), signature, time.Unix(2_000_000_000, 0)); !errors.Is(err, blob.ErrExpired) {
		t.Errorf("at its expiry: %v, want ErrExpired", err)
	}
}

func TestSignatureCoversEveryPart(t *testing.T) {
	s := blob.NewSigner(make([]byte, 32))
	signature, now := s.Sign(link()), time.Unix(1_000_000_000, 0)
	changes := map[string]func(*blob.Link){
		"kind":        func(l *blob.Link) { l.Kind = blob.LinkOutput },
		"environment": func(l *blob.Link) { l.Environment = chargehand.Test },
		"id":          func(l *blob.Link) { l.ID[15]++ },
		"expiry":      func(l *blob.Link) { l.ExpiresUnix++ },
		"disposition": func(l *blob.Link) { l.Disposition = "inline" },
		"longer":      func(l *blob.Link) { l.Disposition += "\x00" },
	}
	for name, change := range changes {
		l := link()
		change(&l)
		if err := s.Verify(l, signature, now); !errors.Is(err, blob.ErrBadSignature) {
			t.Errorf("another %s: %v, want ErrBadSignature", name, err)
		}
	}
	other := blob.NewSigner([]byte(strings.Repeat("k", 32)))
	if err := other.Verify(link(), signature, now); !errors.Is(err, blob.ErrBadSignature) {
		t.Errorf("another key: %v", err)
	}
	for _, bad := range []string{"", "A", signature[:42], signature + "A", signature + "=", strings.ToUpper(signature), "\x00", " " + signature} {
		if err := s.Verify(link(), bad, now); !errors.Is(err, blob.ErrBadSignature) {
			t.Errorf("signature %q: %v, want ErrBadSignature", bad, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	s := blob.NewSigner(make([]byte, 32))
	good := s.Sign(link())
	f.Add(good)
	f.Add("")
	f.Fuzz(func(t *testing.T, signature string) {
		err := s.Verify(link(), signature, time.Unix(0, 0))
		if (err == nil) != (signature == good) {
			t.Errorf("signature %q: %v", signature, err)
		}
	})
}
