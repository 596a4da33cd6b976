package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// File is a stored file.
type File struct {
	ID          string    `json:"id"`
	URI         string    `json:"uri"`
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Size        int64     `json:"size"`
	SHA256      string    `json:"sha256"`
	CreatedAt   time.Time `json:"created_at"`
	URL         string    `json:"url"`
}

// Reference is the file as an object in the data of an execution.
func (f *File) Reference() map[string]any {
	return map[string]any{
		"uri": "/api/v1/files/" + f.ID, "name": f.Name, "mediaType": f.ContentType,
		"size": f.Size, "digest": "sha256:" + f.SHA256,
	}
}

// Upload stores content under a display name. It is not repeated on failure, because content
// can be read once.
func (c *Client) Upload(ctx context.Context, name, contentType string, content io.Reader) (*File, error) {
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	var f File
	return &f, c.do(ctx, call{
		method: http.MethodPost, path: "/files", query: url.Values{"filename": {name}}, contentType: contentType,
		raw: func() io.Reader { return content }, once: true, idempotent: true, into: &f,
	})
}

// GetFile describes a file.
func (c *Client) GetFile(ctx context.Context, id string) (*File, error) {
	var f File
	return &f, c.do(ctx, call{method: http.MethodGet, path: "/files/" + url.PathEscape(id), into: &f})
}

// DeleteFile deletes a file that no execution that has not ended refers to.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/files/" + url.PathEscape(id)})
}

// Download writes the content of a file, by id or by the signed address of a result.
func (c *Client) Download(ctx context.Context, idOrURL string, to io.Writer) (int64, error) {
	path := idOrURL
	if u, err := url.Parse(idOrURL); err != nil || !u.IsAbs() {
		path = "/files/" + url.PathEscape(idOrURL) + "/content"
	}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: path, accept: "*/*"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(to, resp.Body)
	if err != nil {
		return n, fmt.Errorf("download: %w", err)
	}
	return n, nil
}
