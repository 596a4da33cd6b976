package api

import (
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

var (
	filenameParameter = &parameter{
		name: "filename", in: "query", about: "Name of the file, for display only. In a multipart body the part's own name counts if this is missing.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.filename = value
			return ""
		},
	}
	// The link parameters are only documented; call.openContent reads them.
	expiresParameter = &parameter{
		name: "expires", in: "query", about: "Part of a signed address.", schema: huma.Schema{Type: "string"},
		read: func(*call, string) string { return "" },
	}
	signatureParameter = &parameter{
		name: "signature", in: "query", about: "Part of a signed address.", schema: huma.Schema{Type: "string"},
		read: func(*call, string) string { return "" },
	}
)

// shownByParameter names a human task that shows the file.
var shownByParameter = &parameter{
	name: "task_id", in: "query", example: exampleTaskID,
	about:  "A human task that you see: the files that it shows, and those of its answer, may be read as long as that is so.",
	schema: huma.Schema{Type: "string", Format: "uuid"},
	read: func(c *call, value string) (complaint string) {
		if setID(&c.args.shownBy, value) != nil {
			return "must be the id of a human task."
		}
		return ""
	},
}

func fileEndpoints() []endpoint {
	return []endpoint{
		{
			method: post, path: "/files", id: "uploadFile", tag: "Files", slow: true,
			summary: "Upload a file", about: "Raw, with filename in the query, or as the one file of a multipart form.",
			scopes: service.ScopeFilesWrite, parameters: []*parameter{filenameParameter, idempotencyParameter},
			body: &body{
				stream: true, about: "The content.",
				limit: func(l service.Limits) int64 { return l.UploadBytes },
			},
			answers:   []answer{{status: 201, about: "Stored", view: file{}, headers: []string{"Location", "Idempotency-Replayed"}}},
			problems:  []chargehand.Code{chargehand.CodeInvalidBody, chargehand.CodeQuotaExceeded, chargehand.CodeStorageReserve},
			unaudited: "files are data, as the inputs of executions are",
			serve:     (*call).uploadFile,
		},
		{
			method: get, path: "/files/{fileId}", id: "getFile", tag: "Files",
			summary: "Describe a file", about: "With a signed address of the content.", scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn,
			parameters: []*parameter{shownByParameter},
			answers:    []answer{{status: 200, about: "The file", view: file{}}},
			serve:      (*call).getFile,
		},
		{
			method: remove, path: "/files/{fileId}", id: "deleteFile", tag: "Files",
			summary: "Delete a file",
			about: "One that the key has uploaded itself. Files that executions have made need executions:manage over the workflow too, " +
				"uploads of others executions:manage over everything. An execution that has not ended keeps its files.",
			scopes:   service.ScopeFilesWrite,
			answers:  []answer{{status: 204, about: "Deleted"}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "file deleted",
			audits:   []audit.Action{audit.FileDeleted},
			serve:    (*call).deleteFile,
		},
		{
			method: get, path: "/files/{fileId}/content", id: "getFileContent", tag: "Files", slow: true,
			summary: "Download a file", about: "With a key, or without one at a signed address.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: []*parameter{expiresParameter, signatureParameter, shownByParameter},
			answers: []answer{
				{status: 200, about: "The content", media: "*/*", example: "confirmed: lamp", headers: []string{"ETag", "Content-Disposition", "Accept-Ranges"}},
				{status: 206, about: "Parts of the content", media: "*/*", example: "confirmed: lamp", headers: []string{"ETag", "Content-Disposition", "Accept-Ranges", "Content-Range"}},
				{status: 302, about: "The content is at another address for a short time (only at a signed address, where the server is set up so)", headers: []string{"Location"}},
				{status: 304, about: "Nothing has changed since the answer with this ETag", headers: []string{"ETag", "Content-Disposition"}},
			},
			problems: []chargehand.Code{
				chargehand.CodeResultExpired, chargehand.CodePreconditionFailed, chargehand.CodeRangeNotSatisfiable,
			},
			serve: (*call).getFileContent,
		},
	}
}

func (c *call) uploadFile() error {
	content, err := c.upload()
	if err != nil {
		return err
	}
	f, replayed, err := c.server.service.UploadFile(c.r.Context(), c.principal, service.UploadFile{
		Name: content.name, ContentType: content.mediaType, Content: content,
		Idempotency: c.idempotency(), View: c.asked(),
	})
	if content.err != nil { // the reason why the service could not read on
		return readProblem(content.err)
	}
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.location("/files/" + f.ID.String())
	return c.view(http.StatusCreated, viewFile(f))
}

func (c *call) getFile() error {
	f, err := c.server.service.GetFile(c.r.Context(), c.principal, service.ReadFile{ID: c.file, Task: c.args.shownBy}, c.asked())
	return show(c, f, err, viewFile)
}

func (c *call) deleteFile() error {
	return c.done(c.server.service.DeleteFile(c.r.Context(), c.principal, c.file))
}

func viewFile(f *service.File) file {
	uri := chargehand.APIPath + "/files/" + f.ID.String()
	v := file{
		ID: f.ID, URI: uri, Name: f.Name, URL: f.URL, Size: f.Size, ContentType: f.ContentType, SHA256: f.SHA256,
		CreatedAt: at(f.CreatedAt), ExpiresAt: at(f.ExpiresAt),
		Reference: fileReference{
			URI: uri, Name: f.Name, MediaType: f.ContentType, Size: f.Size,
		},
	}
	if f.SHA256 != "" {
		v.Reference.Digest = "sha256:" + f.SHA256
	}
	return v
}

// hasSignature reports whether the address of the request is signed.
func (c *call) hasSignature() bool {
	_, found, _ := queryValue(c.r.URL.RawQuery, "signature")
	return found
}
