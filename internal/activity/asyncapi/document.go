package asyncapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/asyncapidoc"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/value"
)

const maxDocuments = 64

// documents remembers parsed documents by the digest of their text. The fetcher decides which
// caller may read which text.
type documents struct {
	fetcher Fetcher

	mu    sync.Mutex
	known map[[sha256.Size]byte]*asyncapidoc.Document
}

func newDocuments(fetcher Fetcher) *documents {
	return &documents{fetcher: fetcher, known: map[[sha256.Size]byte]*asyncapidoc.Document{}}
}

// get reads the document that v names or holds, and tells its digest (T69).
func (d *documents) get(ctx context.Context, call activity.Call, v value.Value) (doc *asyncapidoc.Document, digest string, fault *machine.Fault) {
	document, _ := v.(map[string]any)
	name := "of the definition"
	var data []byte
	if text, pinned := document["content"].(string); pinned {
		data = []byte(text)
	} else {
		uri, _ := document["endpoint"].(string)
		scope := call.Account.String() + " " + call.Environment.String()
		content, err := d.fetcher.Fetch(ctx, scope, resource.Request{URI: uri, Authentication: document["authentication"]})
		if err != nil {
			return nil, "", fetchFault(err)
		}
		name, data = content.URI, content.Data
	}
	key := sha256.Sum256(data)
	digest = "sha256:" + hex.EncodeToString(key[:])
	d.mu.Lock()
	doc = d.known[key]
	d.mu.Unlock()
	if doc != nil {
		return doc, digest, nil
	}
	doc, err := asyncapidoc.Parse(data)
	if err != nil {
		return nil, "", failure.Configuration(fmt.Sprintf("the AsyncAPI document %s cannot be read: %v", excerpt.Clip(name, failure.ClipBytes), err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDocuments {
		clear(d.known) // rare, and a document is soon parsed again
	}
	d.known[key] = doc
	return doc, digest, nil
}

func fetchFault(err error) *machine.Fault {
	var failed *resource.Error
	if errors.As(err, &failed) {
		return failed.Fault()
	}
	return failure.NoAnswer("fetch the AsyncAPI document: " + excerpt.Clip(err.Error(), failure.ClipBytes))
}
