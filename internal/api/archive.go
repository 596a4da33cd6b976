package api

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

const (
	zipMedia = "application/zip"
	// maxArchivedName bounds the names of files in an archive, in bytes: with the folder, and the one that it is unpacked
	// to, they are paths that every system has.
	maxArchivedName = 100
	// maxArchivedExtension bounds the extension, with its dot, that such a name keeps when it is cut.
	maxArchivedExtension = 16
)

// Names in an archive. The part behind filesFolder is the only one that data has a say in.
const (
	executionEntry = "execution.json"
	runsEntry      = "timeline.jsonl"
	logEntry       = "log.jsonl"
	filesEntry     = "files.json"
	filesFolder    = "files/"
)

type (
	// archiveIndex is files.json.
	archiveIndex struct {
		Files   []archivedFile `json:"files" nullable:"false"`
		Missing []missingPart  `json:"missing" nullable:"false"`
	}
	archivedFile struct {
		Path      string            `json:"path"`
		ID        chargehand.FileID `json:"id"`
		Name      string            `json:"name"`
		Size      int64             `json:"size"`
		MediaType string            `json:"content_type"`
		SHA256    string            `json:"sha256"`
		CreatedAt moment            `json:"created_at"`
		Result    bool              `json:"result"`
		Seq       int64             `json:"seq,omitempty"`
	}
	// missingPart is what an archive does not have, and why.
	missingPart struct {
		Path   string             `json:"path,omitempty"` // of a part that is not a file, or not whole
		Reason string             `json:"reason"`
		Detail string             `json:"detail"`
		ID     *chargehand.FileID `json:"id,omitempty"` // of a file, as all that follows
		Name   string             `json:"name,omitempty"`
		Size   int64              `json:"size,omitempty"`
		SHA256 string             `json:"sha256,omitempty"`
		Result bool               `json:"result,omitempty"`
		Seq    int64              `json:"seq,omitempty"`
	}
)

// archiveEndpoint is the route of an archive below an execution.
func archiveEndpoint(execution, id, summary string, serve func(*call) error) endpoint {
	return endpoint{
		method: get, path: execution + "/archive", id: id, tag: "Executions", slow: true, summary: summary,
		about: "A zip file: execution.json as getExecution answers it, the definition (with workflows:read), timeline.jsonl and log.jsonl, a line for each run and each line of the log, " +
			"the results and the other files of its tasks in the folder files, and files.json, which has their names, and in missing what there is no more. Of an execution that has not ended, what there is so far. " +
			"If something cannot be read to its end, the answer is cut off, and is no zip file.",
		scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn,
		answers:  []answer{{status: 200, about: "The archive", media: zipMedia, example: "PK", headers: []string{"Content-Disposition"}}},
		problems: []chargehand.Code{chargehand.CodeArchiveTooLarge},
		serve:    serve,
	}
}

// getArchive sends an archive as it is made: nothing of it is stored, and no more than a piece of a file is in memory.
func (c *call) getArchive() error {
	// What ends the key or session ends the archive too: it may take hours.
	ctx, release := c.server.service.Hold(c.r.Context(), c.principal)
	defer release()
	a, err := c.server.service.Archive(ctx, c.principal, c.workflow, c.execution, c.asked())
	if err != nil {
		return heldError(ctx, err)
	}
	defer a.Close()
	h := c.w.Header()
	h.Set("Content-Type", zipMedia)
	h.Set("Content-Disposition", service.Disposition("execution-"+a.Execution.ID.String()+".zip"))
	if c.r.Method == http.MethodHead {
		c.empty(http.StatusOK)
		return nil
	}
	// Until the first piece is full, an error is answered as a problem.
	out := bufio.NewWriterSize(&archiveOutput{contentWriter{call: c, control: http.NewResponseController(c.w)}}, streamBytes)
	w := &archiveWriter{ctx: ctx, archive: a, zip: zip.NewWriter(out)}
	w.zip.RegisterCompressor(zip.Deflate, w.deflate)
	if err := w.write(); err != nil {
		return heldError(ctx, err)
	}
	// Only now the archive has the list without which it cannot be read.
	return errors.Join(w.zip.Close(), out.Flush())
}

// heldError is why ctx has ended, if the key or session has ended or its rights have changed (Hold), and otherwise err.
func heldError(ctx context.Context, err error) error {
	end := (*service.StreamEnd)(nil)
	switch {
	case !errors.As(context.Cause(ctx), &end):
		return err
	case end.Reason == service.EndRevoked:
		return chargehand.NewError(chargehand.CodeInsufficientScope, end.Detail)
	}
	return chargehand.NewError(chargehand.CodeUnavailable, end.Detail)
}

// archiveOutput begins the answer with its first piece.
type archiveOutput struct{ contentWriter }

func (o *archiveOutput) Write(b []byte) (int, error) {
	if o.status == 0 {
		o.WriteHeader(http.StatusOK)
	}
	n, err := o.contentWriter.Write(b)
	if err != nil {
		err = fmt.Errorf("%w: %w", errClientGone, err)
	}
	return n, err
}

// archiveWriter writes the parts of an archive.
type archiveWriter struct {
	ctx     context.Context
	archive *service.Archive
	zip     *zip.Writer
	index   archiveIndex
	packer  *flate.Writer // of the last entry
}

// deflate makes the compressor of an entry. It is that of the entry before, which has ended: a new one takes much
// memory.
func (w *archiveWriter) deflate(to io.Writer) (_ io.WriteCloser, err error) {
	if w.packer == nil {
		w.packer, err = flate.NewWriter(to, flate.BestSpeed)
	} else {
		w.packer.Reset(to)
	}
	return w.packer, err
}

func (w *archiveWriter) write() error {
	w.index = archiveIndex{Files: []archivedFile{}, Missing: []missingPart{}}
	for _, part := range []func() error{w.execution, w.definition, w.timeline, w.log, w.files, w.list} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// entry begins the next entry of the zip file. All are deflated: what reads a zip file as a stream cannot find the end
// of one that is stored.
func (w *archiveWriter) entry(name string, at time.Time) (io.Writer, error) {
	if err := context.Cause(w.ctx); err != nil {
		return nil, err
	}
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at.UTC()}
	header.SetMode(0o644)
	return w.zip.CreateHeader(header)
}

// json writes an entry that is one JSON text.
func (w *archiveWriter) json(name string, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	to, err := w.entry(name, w.at())
	if err == nil {
		_, err = to.Write(append(text, '\n'))
	}
	return err
}

// at is the time of all entries that are no files: when the execution ended, or began.
func (w *archiveWriter) at() time.Time {
	e := w.archive.Execution
	if e.FinishedAt.IsZero() {
		return e.CreatedAt
	}
	return e.FinishedAt
}

func (w *archiveWriter) execution() error {
	return w.json(executionEntry, viewExecution(w.archive.Execution))
}

func (w *archiveWriter) definition() error {
	a := w.archive
	if a.Definition == nil {
		w.lacks("definition.yaml", "not_allowed", "The definition needs the scope workflows:read.")
		return nil
	}
	name := "definition.yaml"
	if a.DefinitionType == "application/json" {
		name = "definition.json"
	}
	to, err := w.entry(name, w.at())
	if err == nil {
		_, err = to.Write(a.Definition)
	}
	return err
}

func (w *archiveWriter) timeline() error {
	to, err := w.entry(runsEntry, w.at())
	if err != nil {
		return err
	}
	if w.archive.Truncated {
		w.lacks(runsEntry, "not_kept", "The newest 10,000 runs of tasks are kept, and those that are open or hold kept ones.")
	}
	return w.archive.Timeline(w.ctx, func(e *service.TimelineEntry) error { return line(to, viewTimelineEntry(e)) })
}

func (w *archiveWriter) log() error {
	to, err := w.entry(logEntry, w.at())
	if err != nil {
		return err
	}
	return w.archive.Log(w.ctx, func(l *service.LogLine) error { return line(to, viewLogLine(l)) })
}

// line writes a line of JSON Lines.
func line(to io.Writer, v any) error {
	text, err := encode(v)
	if err == nil {
		_, err = to.Write(append(text, '\n'))
	}
	return err
}

// files writes the contents of the files. One whose content is gone is noted as missing; any other error ends the
// archive.
func (w *archiveWriter) files() error {
	for i := range w.archive.Files {
		f := &w.archive.Files[i]
		content, err := w.archive.Open(w.ctx, i)
		if gone := (*chargehand.Error)(nil); errors.As(err, &gone) && gone.Code == chargehand.CodeFileNotFound {
			w.lacksFile(f, "content_missing", "The content of the file is not stored any more.")
			continue
		}
		if err != nil {
			return err
		}
		path := archivedPath(i+1, f.Name)
		err = w.copy(path, f, content)
		content.Close()
		if err != nil {
			return err
		}
		w.index.Files = append(w.index.Files, archivedFile{
			Path: path, ID: f.ID, Name: f.Name, Size: f.Size, MediaType: f.ContentType, SHA256: f.SHA256, CreatedAt: at(f.CreatedAt()),
			Result: f.Result, Seq: f.Seq,
		})
	}
	for i := range w.archive.Missing {
		w.lacksFile(&w.archive.Missing[i], "deleted", "The file was deleted.")
	}
	return nil
}

func (w *archiveWriter) copy(path string, f *service.ArchivedFile, content io.Reader) error {
	to, err := w.entry(path, f.CreatedAt())
	if err != nil {
		return err
	}
	n, err := io.Copy(to, heldReader{w.ctx, content})
	if err == nil && n != f.Size {
		err = fmt.Errorf("file %s has %d bytes instead of %d", f.ID, n, f.Size)
	}
	return err
}

// heldReader reads until ctx ends.
type heldReader struct {
	ctx  context.Context
	from io.Reader
}

func (r heldReader) Read(b []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.from.Read(b)
}

// list writes files.json, as the last entry: only now it is known what is missing.
func (w *archiveWriter) list() error { return w.json(filesEntry, w.index) }

// lacks notes a part that is missing, or not whole.
func (w *archiveWriter) lacks(path, reason, detail string) {
	w.index.Missing = append(w.index.Missing, missingPart{Path: path, Reason: reason, Detail: detail})
}

func (w *archiveWriter) lacksFile(f *service.ArchivedFile, reason, detail string) {
	w.index.Missing = append(w.index.Missing, missingPart{
		Reason: reason, Detail: detail, ID: &f.ID, Name: f.Name, Size: f.Size, SHA256: f.SHA256, Result: f.Result, Seq: f.Seq,
	})
}

// archivedPath is where an archive has a file: a flat name with a number, so that no two are the same, in whatever
// case, and none is one of those that Windows keeps for itself. Of the name that the file was given, it has letters,
// digits and a few signs.
func archivedPath(n int, name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
	name = strings.Trim(name, ".")
	if len(name) > maxArchivedName {
		extension := ""
		if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= maxArchivedExtension {
			extension = name[i:]
		}
		end := maxArchivedName - len(extension)
		for !utf8.RuneStart(name[end]) {
			end--
		}
		name = strings.TrimRight(name[:end], ".") + extension
	}
	if name == "" {
		name = "file"
	}
	return fmt.Sprintf("%s%04d-%s", filesFolder, n, name)
}
