package web

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"path"
	"strings"
)

// policy is the Content-Security-Policy of the UI. Its libraries make style elements, which carry the nonce of the
// answer; scripts come from files alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data: blob:; font-src 'self'; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// UI is a bundle that was read whole.
type UI struct {
	index   *template.Template
	assets  map[string]*Asset
	notices []byte
}

// Asset is a file whose name changes with its content.
type Asset struct {
	Media  string
	Tag    string // differs between contents
	Packed []byte // with gzip
}

// New reads a bundle: index.html, a template; files below assets, packed with gzip; and the licences of what is in it.
// It is nil if there is none.
func New(dist fs.FS) (*UI, error) {
	index, err := fs.ReadFile(dist, "dist/index.html")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	ui := &UI{assets: map[string]*Asset{}}
	if ui.index, err = template.New("index").Parse(string(index)); err != nil {
		return nil, fmt.Errorf("index.html of the web UI: %w", err)
	}
	if ui.notices, err = fs.ReadFile(dist, "dist/NOTICE.txt"); err != nil {
		return nil, err
	}
	files, err := fs.Glob(dist, "dist/assets/*.gz")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		packed, err := fs.ReadFile(dist, file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(path.Base(file), ".gz")
		ui.assets[name] = &Asset{Media: media(name), Tag: name, Packed: packed}
	}
	return ui, nil
}

// media is the type of a file. The table of the machine says nothing here: it differs between machines.
func media(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		if known := mime.TypeByExtension(ext); known != "" {
			return known
		}
		return "application/octet-stream"
	}
}

// Index is the one page of the UI in a language, and its Content-Security-Policy. Both are made for one answer.
func (ui *UI) Index(lang string) (text []byte, csp string, err error) {
	random := make([]byte, 18)
	_, _ = rand.Read(random) // it never fails
	nonce := base64.RawURLEncoding.EncodeToString(random)
	var out bytes.Buffer
	if err := ui.index.Execute(&out, map[string]string{"Nonce": nonce, "Lang": lang}); err != nil {
		return nil, "", fmt.Errorf("draw the web UI: %w", err)
	}
	return out.Bytes(), fmt.Sprintf(policy, nonce), nil
}

// Asset is a file by its name; nil: there is none.
func (ui *UI) Asset(name string) *Asset { return ui.assets[name] }

// Notices are the licences of what is in the bundle.
func (ui *UI) Notices() []byte { return ui.notices }

// Unpack is the file as it is, for clients that do not know gzip.
func (a *Asset) Unpack() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(a.Packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
