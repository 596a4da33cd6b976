package embedded

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// mirror answers with what it was asked, and waits where the endpoint says so.
type mirror struct {
	waits chan activity.Call // gets each call that waits
	open  chan struct{}
}

func newMirror() *mirror {
	return &mirror{waits: make(chan activity.Call, 10), open: make(chan struct{})}
}

func (m *mirror) Run(ctx context.Context, c activity.Call) activity.Result {
	args := c.Args.(map[string]any)
	switch endpoint, _ := args["endpoint"].(string); {
	case strings.HasSuffix(endpoint, "/wait"):
		select {
		case m.waits <- c:
		case <-ctx.Done():
		}
		select {
		case <-m.open:
		case <-ctx.Done():
		}
	case strings.HasSuffix(endpoint, "/panic"):
		panic(args["body"])
	case strings.HasSuffix(endpoint, "/fail"):
		return activity.Result{Fault: &machine.Fault{
			Type: machine.ErrCommunication, Status: 401, Title: "No", Detail: fmt.Sprint("refused: ", args["body"]),
		}}
	}
	return activity.Result{Output: args}
}

const (
	shopToken = "token5of7the9shop"
	password  = "pa55word9of8somebody"
	visible   = "everybody4may6see8this"
)

// leak searches everything that is stored for a text, as it is and in its usual encodings.
func (fx *fixture) leak(text string) (where string) {
	fx.t.Helper()
	var forms [][]byte
	for _, form := range []string{
		text, hex.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString([]byte(text)),
	} {
		forms = append(forms, []byte(strings.TrimRight(form, "=")))
	}
	search := func(what string, data []byte) {
		for _, form := range forms {
			if at := bytes.Index(data, form); at >= 0 {
				where += fmt.Sprintf("%s at %d: %q\n", what, at, data[max(0, at-100):min(len(data), at+50)])
				return
			}
		}
	}
	fx.mu.Lock()
	for digest, data := range fx.blobs {
		search(fmt.Sprintf("blob %x", digest), data)
	}
	fx.mu.Unlock()
	if fx.url == "" {
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(fx.path + suffix)
			if err != nil && !(suffix != "" && errors.Is(err, os.ErrNotExist)) {
				fx.t.Fatal(err)
			}
			search("file "+suffix, data)
		}
		return where
	}
	err := fx.db.View(context.Background(), func(c store.Conn) error {
		var tables []string
		const query = `SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()`
		err := c.Query(query, func(r store.Row) error {
			tables = append(tables, r.Text(0))
			return nil
		})
		for _, table := range tables {
			err = errors.Join(err, c.Query(`SELECT t::text FROM `+table+` t`, func(r store.Row) error {
				search("table "+table, []byte(r.Text(0)))
				return nil
			}))
		}
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return where
}

func (fx *fixture) pinned(no int64) bool {
	fx.t.Helper()
	var err error
	fx.view(func(r *store.Reader) error {
		_, err = r.PinnedSecrets(no)
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		fx.t.Fatal(err)
	}
	return err == nil
}
