package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/store"
)

// What an archive holds at most. The files count also where their content is gone.
const (
	MaxArchiveBytes = 16 << 30 // of all files together
	MaxArchiveFiles = 10_000
)

// archivePage is how many rows of files, or runs of tasks, are read at a time.
const archivePage = 100

// Archive is an execution with all that is kept of it. What an execution that has not ended adds while the archive is
// read may be in one part and not in another. Nothing shows a value that the reads of the parts redact. Each part is
// read once, and Close is called at last. An Archive is not safe for concurrent use.
type Archive struct {
	Execution *Execution
	// Definition is the text of the revision that the execution runs; nil: the principal may not read definitions.
	Definition     []byte
	DefinitionType string // application/yaml or application/json
	// Files are the result files, in their order, and then the others of its tasks.
	Files []ArchivedFile
	// Missing are files that the execution or its timeline names, and that were deleted.
	Missing   []ArchivedFile
	Truncated bool // the timeline has lost runs
	// Timeline calls f with each run of a task that the timeline has, in the order in which they started. An error of f
	// ends it and is returned.
	Timeline func(ctx context.Context, f func(*TimelineEntry) error) error
	// Log does the same with each line of the log.
	Log func(ctx context.Context, f func(*LogLine) error) error
	// Open opens the content of one of Files. A reader gets the last byte only if the content is what was stored.
	// Codes: file_not_found (the content is gone).
	Open  func(ctx context.Context, i int) (io.ReadCloser, error)
	Close func()
}

// ArchivedFile is a file in an archive, or one that is missing there: then it has what is still known of it.
type ArchivedFile struct {
	ID          chargehand.FileID // that of the execution: its output
	Name        string            // as its maker named it: it may hold anything
	ContentType string
	Size        int64
	SHA256      string // hex; empty: not known
	Result      bool
	Seq         int64 // of the first run in the timeline that names it; 0: none does
}

// Archive opens all that is kept of an execution, as a whole or not at all.
// Codes: execution_not_found, archive_too_large, rate_limited (as many archives are being read as may be).
func (s *Service) Archive(
	ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, v View,
) (_ *Archive, err error) {
	leave, err := s.archives.enter(p)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	x, err := s.snapshotOf(ctx, func(r *store.Reader) (store.Execution, error) { return s.findExecution(r, p, workflow, id) })
	if err != nil {
		return nil, err
	}
	a := &Archive{Close: leave}
	if a.Execution, err = s.shown(ctx, x, v); err != nil {
		return nil, err
	}
	timeline, err := s.engine.Timeline(ctx, x.row.No)
	if err != nil {
		return nil, storageError(notFoundIs(err, executionNotFound))
	}
	named, err := s.runFiles(&x.row, timeline.Records)
	if err != nil {
		return nil, err
	}
	var found foundFiles
	err = s.view(ctx, func(r *store.Reader) (err error) { // after the timeline: what that names is stored by now
		if err = a.readDefinition(r, p, x); err != nil {
			return err
		}
		found, err = s.archivedFiles(r, x, named)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.Files, a.Missing, a.Truncated = found.described(named), found.missing, timeline.Truncated
	a.Timeline = s.archivedTimeline(&x.row, timeline, v)
	a.Log = func(ctx context.Context, f func(*LogLine) error) error {
		s.logs.Flush(ctx, x.row.No)
		return s.logLines(x.row.No, runlog.Query{}, math.MaxInt)(ctx, f)
	}
	a.Open = func(ctx context.Context, i int) (io.ReadCloser, error) { return s.openArchived(ctx, x, &found.rows[i]) }
	return a, nil
}

// readDefinition reads the text that the execution runs, if the principal may read definitions of the workflow.
func (a *Archive) readDefinition(r *store.Reader, p *Principal, x *snapshot) error {
	namespace, _, _ := strings.Cut(x.names.name, "/")
	if p.mayOn(ScopeWorkflowsRead, x.names.workflow, namespace) != nil {
		return nil
	}
	revision, err := r.RevisionByNo(x.row.Revision)
	if err != nil {
		return err
	}
	definition, err := r.Definition(revision.Definition)
	a.Definition, a.DefinitionType = definition.Source, definition.MediaType
	return err
}

// archivedTimeline reads a timeline page by page, and lets it go at the end: the files that follow may take long.
func (s *Service) archivedTimeline(
	row *store.Execution, timeline *engine.Timeline, v View,
) func(ctx context.Context, f func(*TimelineEntry) error) error {
	return func(ctx context.Context, f func(*TimelineEntry) error) error {
		defer func() { timeline = nil }()
		var logged map[int64]int64
		err := s.view(ctx, func(r *store.Reader) (err error) {
			logged, err = runlog.TaskBytes(r, row.No)
			return err
		})
		if err != nil {
			return err
		}
		for part := range slices.Chunk(timeline.Records, archivePage) {
			records := make([]*machine.Record, len(part))
			for i := range part {
				records[i] = &part[i]
			}
			entries, err := s.timelineEntries(ctx, row, timeline, records, logged, false, v)
			if err != nil {
				return err
			}
			for i := range entries {
				if err := f(&entries[i]); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// namedFile is a file that a timeline names, and the first run that does.
type namedFile struct {
	store.File
	seq int64
}

// runFiles are the files that a timeline names, each once. Codes: archive_too_large.
func (s *Service) runFiles(row *store.Execution, records []machine.Record) (list []namedFile, err error) {
	seen := map[chargehand.FileID]bool{}
	for i := range records {
		files := records[i].Files
		for j := range files {
			file, err := recordedFile(row.Environment, &files[j])
			if err != nil {
				return nil, err
			}
			if seen[file.ID] {
				continue
			}
			if len(list) == s.archiveFiles {
				return nil, s.tooManyArchived()
			}
			seen[file.ID] = true
			list = append(list, namedFile{file, int64(records[i].Seq)})
		}
	}
	return list, nil
}

// foundFiles are the files of an archive: first the results.
type foundFiles struct {
	rows    []store.File
	results int // as many of rows
	missing []ArchivedFile
}

// archivedFiles finds the results of an execution, the files that it made, and what its timeline names beside them.
// A read of the execution has signed addresses of all of them. Codes: archive_too_large.
func (s *Service) archivedFiles(r *store.Reader, x *snapshot, named []namedFile) (found foundFiles, err error) {
	has := map[chargehand.FileID]bool{}
	add := func(f *store.File) {
		if !has[f.ID] {
			has[f.ID] = true
			found.rows = append(found.rows, *f)
		}
	}
	for i := range x.files {
		add(&x.files[i])
	}
	if x.row.Status == chargehand.Finished && len(x.files) == 0 {
		output := outputFile(&x.row, &x.outcome)
		add(&output)
	}
	found.results = len(found.rows)
	for after := int64(0); ; {
		page, err := r.FilesOf(x.row.No, after, archivePage)
		if err != nil {
			return found, err
		}
		for i := range page {
			add(&page[i])
			after = page[i].No
		}
		if len(found.rows) > s.archiveFiles {
			return found, s.tooManyArchived()
		}
		if len(page) < archivePage {
			break
		}
	}
	if err := s.findNamed(r, x, named, has, &found); err != nil {
		return found, err
	}
	if len(found.rows)+len(found.missing) > s.archiveFiles {
		return found, s.tooManyArchived()
	}
	sum := int64(0)
	for i := range found.rows {
		if sum += found.rows[i].Size; sum > s.archiveBytes {
			return found, chargehand.NewError(chargehand.CodeArchiveTooLarge, fmt.Sprintf(
				"The files of the execution have more than %d bytes together, the limit of an archive. Read them one by one: the execution and its timeline have their addresses.", s.archiveBytes))
		}
	}
	return found, nil
}

// findNamed adds what a timeline names, and what was a result, if it is not among the files yet. What is not stored any
// more is missing.
func (s *Service) findNamed(r *store.Reader, x *snapshot, named []namedFile, has map[chargehand.FileID]bool, found *foundFiles) error {
	results, err := resultIDs(&x.outcome)
	if err != nil {
		return err
	}
	var others []chargehand.FileID
	for i := range named {
		if !has[named[i].ID] {
			others = append(others, named[i].ID)
		}
	}
	stored, err := r.FilesByID(x.row.Account, x.row.Environment, others)
	if err != nil {
		return err
	}
	missing := func(f *store.File, seq int64) {
		gone := ArchivedFile{
			ID: f.ID, Name: f.Name, ContentType: f.MediaType, Size: f.Size, Result: slices.Contains(results, f.ID), Seq: seq,
		}
		if f.Digest != nil {
			gone.SHA256 = blob.DigestOf(f.Digest).String()
		}
		found.missing = append(found.missing, gone)
	}
	for i := range named {
		f := &named[i]
		if has[f.ID] {
			continue
		}
		has[f.ID] = true
		if row, ok := stored[f.ID]; ok {
			found.rows = append(found.rows, row)
		} else {
			missing(&f.File, f.seq)
		}
	}
	for _, id := range results {
		if !has[id] {
			has[id] = true
			missing(&store.File{ID: id}, 0)
		}
	}
	return nil
}

// described are the files as an archive lists them.
func (f *foundFiles) described(named []namedFile) []ArchivedFile {
	seqs := make(map[chargehand.FileID]int64, len(named))
	for i := range named {
		seqs[named[i].ID] = named[i].seq
	}
	list := make([]ArchivedFile, len(f.rows))
	for i := range f.rows {
		row := &f.rows[i]
		list[i] = ArchivedFile{
			ID: row.ID, Name: row.Name, ContentType: row.MediaType, Size: row.Size, SHA256: blob.DigestOf(row.Digest).String(),
			Result: i < f.results, Seq: seqs[row.ID],
		}
	}
	return list
}

// openArchived opens a file, or the output of the execution as one. Codes: file_not_found.
func (s *Service) openArchived(ctx context.Context, x *snapshot, row *store.File) (io.ReadCloser, error) {
	if output := &x.outcome.Output; row.No == 0 && output.Blob == nil {
		if output.Damage != nil {
			return nil, output.Damage
		}
		return memoryContent{bytes.NewReader(output.Inline)}, nil
	}
	content, err := s.openContent(ctx, row.Digest, row.Size)
	if err != nil {
		return nil, notFoundIs(err, fileNotFound)
	}
	return content, nil
}

func (s *Service) tooManyArchived() error {
	return chargehand.NewError(chargehand.CodeArchiveTooLarge, fmt.Sprintf(
		"The execution has more than %d files, the limit of an archive. Read them one by one: the execution and its timeline have their addresses.", s.archiveFiles))
}

// CreatedAt is when the file was stored.
func (f *ArchivedFile) CreatedAt() time.Time { return f.ID.Time() }
