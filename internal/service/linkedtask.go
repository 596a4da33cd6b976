package service

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// LinkState says what a link to a human task is good for.
type LinkState uint8

// The states. Only with LinkOpen the task can be answered by the link.
const (
	LinkOpen      LinkState = 1 + iota
	LinkTaken               // another person works on the task
	LinkUsed                // the task was answered by this link
	LinkAnswered            // it was answered in another way
	LinkWithdrawn           // its answer is not needed any more
	LinkExpired
	LinkRevoked
	LinkRefused // its addressee may not answer the task any more
)

// LinkedTask is a human task as the holder of a link to it sees it.
type LinkedTask struct {
	State LinkState
	At    time.Time // of what the state says; zero: it has no time
	Ends  time.Time // when the link does
	Name  string    // of the addressee
	Given string    // with LinkUsed: the title of the outcome
	// With LinkOpen, and with LinkTaken and LinkUsed for an answer that is sent all the same:
	Task HumanTask // with Full, without comments and links
	// With LinkOpen and LinkTaken:
	Files []File // of the task, with addresses; content types and names are those of who uploaded them
	// Referred are the files that the data to be looked at refers to, with addresses.
	Referred map[chargehand.FileID]File
}

// openedLink is a link with what is needed to answer by it.
type openedLink struct {
	link  store.TaskLink
	task  store.HumanTask
	who   responder
	state LinkState
	at    time.Time
}

// noSuchLink is the answer for an address that never was one.
func noSuchLink() error {
	return chargehand.NewError(chargehand.CodeTaskLinkNotFound, "This link is not known. Check that the address is complete.")
}

// openLink finds a link by its secret. Codes: task_link_not_found.
func (s *Service) openLink(ctx context.Context, secret string) (o openedLink, err error) {
	if !token.WellFormed(secret) {
		return o, noSuchLink()
	}
	hash := token.Hash(secret)
	err = s.view(ctx, func(r *store.Reader) error {
		if o.link, err = r.TaskLinkByHash(hash[:]); err != nil {
			return notFoundIs(err, noSuchLink)
		}
		if subtle.ConstantTimeCompare(o.link.Hash, hash[:]) != 1 {
			return noSuchLink()
		}
		if o.task, err = r.HumanTaskByNo(o.link.Task); err != nil {
			return notFoundIs(err, noSuchLink)
		}
		return s.judgeLink(r, &o)
	})
	if err != nil || o.state != LinkAnswered {
		return o, err
	}
	output, err := s.taskPayload(ctx, o.task.Answer)
	if via := human.AnswerOf(output).By.Via; err == nil && via.Kind == human.ViaLink && via.ID == o.link.ID.String() {
		o.state = LinkUsed
	}
	return o, err
}

// judgeLink finds out what a link to a task that was read is good for, and who answers by it.
func (s *Service) judgeLink(r *store.Reader, o *openedLink) error {
	var ended bool
	var err error
	if o.who, ended, err = s.addressee(r, o.task.Account, &o.link); err != nil {
		return err
	}
	if o.state, o.at = s.linkState(o); o.state != LinkOpen && o.state != LinkTaken {
		return nil
	}
	may := false
	if !ended {
		if may, err = s.mayActBy(r, &o.task, &o.who); err != nil {
			return err
		}
	}
	if !may {
		o.state, o.at = LinkRefused, time.Time{}
	}
	return nil
}

// mayActBy reports whether the responder of a link may answer a task.
func (s *Service) mayActBy(r *store.Reader, task *store.HumanTask, who *responder) (bool, error) {
	resolved := *task
	resolved.Assignees.Exclude = slices.Clone(task.Assignees.Exclude)
	err := s.resolveExcluded(r, &resolved)
	if err == nil {
		err = who.mayAct(&resolved)
	}
	var refused *chargehand.Error
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}

// linkState is the state of a link as far as the rows say it.
func (s *Service) linkState(o *openedLink) (LinkState, time.Time) {
	switch {
	case o.task.Status == store.TaskAnswered: // whatever became of the link later, its holder learns that
		return LinkAnswered, atMs(o.task.EndedMs)
	case o.link.RevokedMs != 0:
		return LinkRevoked, atMs(o.link.RevokedMs)
	case o.link.ExpiresMs <= s.nowMs():
		return LinkExpired, atMs(o.link.ExpiresMs)
	case o.task.Status == store.TaskWithdrawn:
		return LinkWithdrawn, atMs(o.task.EndedMs)
	case o.task.Status == store.TaskClaimed && o.task.Claimant != o.who.actor:
		return LinkTaken, time.Time{}
	}
	return LinkOpen, time.Time{}
}

// principal is the holder of a link. It reads no files but those.
func (o *openedLink) principal(files []chargehand.FileID) *Principal {
	return &Principal{
		Kind: KindLink, AccountNo: o.task.Account, Environment: o.task.Environment, Name: o.who.name, link: o.link.ID,
		Workflows: []chargehand.WorkflowID{}, Limits: store.NoWorkflow(), files: files,
	}
}

// LinkedTask reads a task by the secret of a link. It changes nothing. Codes: task_link_not_found.
func (s *Service) LinkedTask(ctx context.Context, secret string, v View) (*LinkedTask, error) {
	o, err := s.openLink(ctx, secret)
	if err != nil {
		return nil, err
	}
	t := &LinkedTask{State: o.state, At: o.at, Ends: atMs(o.link.ExpiresMs), Name: o.who.name}
	if o.state != LinkOpen && o.state != LinkTaken && o.state != LinkUsed {
		return t, nil
	}
	full, err := s.fullTask(ctx, &o.task, nil)
	if err != nil {
		return nil, err
	}
	if o.state == LinkUsed {
		given, _ := full.Request.Outcome(full.Answer.Outcome)
		t.Given = given.Title
	}
	err = s.view(ctx, func(r *store.Reader) error {
		if t.Task, err = s.shownTask(r, o.principal(nil), &o.who, &o.task); err != nil || o.state == LinkUsed {
			return err
		}
		request := &full.Request
		known, err := filesOfExecution(r, &o.task, []any{request.Files, request.Show, request.Data})
		if err != nil {
			return err
		}
		t.Files, t.Referred = nil, map[chargehand.FileID]File{}
		for _, reference := range request.Files {
			id, _ := referenceID(reference)
			if row, ok := known[id]; ok {
				t.Files = append(t.Files, *s.file(&row, v))
			}
		}
		for _, id := range engine.NamedFiles([]any{request.Show, request.Data}) {
			if row, ok := known[id]; ok {
				t.Referred[id] = *s.file(&row, v)
			}
		}
		return nil
	})
	t.Task.Full = full
	return t, err
}

// LinkedFile is a file that was uploaded by a link and is not part of an answer yet. Text stands for it in a form: only
// the link that has made it can use it, for a day.
type LinkedFile struct {
	ID        chargehand.FileID
	Text      string
	Name      string
	Size      int64
	Reference value.Value
}

// linkedFileLife is how long an upload can be used.
const linkedFileLife = 24 * time.Hour

func (o *openedLink) upload(id chargehand.FileID, expires int64) blob.Link {
	return blob.Link{Kind: blob.LinkUpload, Environment: o.task.Environment, ID: id, ExpiresUnix: expires, Disposition: o.link.ID.String()}
}

// The bounds of what is uploaded by one link, used or not.
const (
	MaxLinkUploads     = 100
	MaxLinkUploadBytes = 1 << 30
)

// LinkUpload is a file that is uploaded by a link.
type LinkUpload struct {
	Name, ContentType string
	Content           io.Reader
	ForAnswer         bool // it is for the files of the answer, not for its data
}

// UploadByLink stores a file for the answer to a task. Codes: task_link_not_found, answer_invalid (the task asks for no
// such file), state_conflict (the task cannot be answered by the link, or too much was uploaded by it), those of
// UploadFile.
func (s *Service) UploadByLink(ctx context.Context, secret string, u LinkUpload) (LinkedFile, error) {
	o, err := s.openLink(ctx, secret)
	if err != nil {
		return LinkedFile{}, err
	}
	switch {
	case o.state != LinkOpen:
		return LinkedFile{}, stateConflict("The task cannot be answered by this link.")
	case u.ForAnswer:
		if err := s.acceptsUpload(ctx, &o, &u); err != nil {
			return LinkedFile{}, err
		}
	}
	counted := &countedReader{ctx: ctx, service: s, link: o.link.No, from: u.Content}
	if err := counted.begin(); err != nil {
		return LinkedFile{}, err
	}
	f, _, err := s.UploadFile(ctx, o.principal(nil), UploadFile{Name: u.Name, ContentType: u.ContentType, Content: counted})
	if err == nil {
		// What is not counted has no text, so it becomes part of no answer, and is deleted like all that nothing uses.
		err = counted.count()
	}
	if err != nil {
		return LinkedFile{}, err
	}
	expires := s.now().Add(linkedFileLife).Unix()
	text := f.ID.String() + "." + strconv.FormatInt(expires, 10) + "." + s.signer.Sign(o.upload(f.ID, expires))
	found, err := s.LinkedFiles(ctx, secret, []string{text})
	if err == nil && len(found) == 0 {
		err = fileNotFound()
	}
	if err != nil {
		return LinkedFile{}, err
	}
	return found[0], nil
}

// countedReader counts a file against the bounds of its link while it is read, so that uploads at the same time keep
// them together: at most countBytes of each are not counted yet. What was counted stays so when the upload fails.
type countedReader struct {
	ctx     context.Context
	service *Service
	link    int64
	from    io.Reader
	bytes   int64 // that are not counted yet
}

// countBytes is after how many bytes an upload is counted.
const countBytes = 8 << 20

// begin counts the file.
func (c *countedReader) begin() error {
	return c.add(func(tx *store.Tx) error { return tx.CountLinkUpload(c.link, MaxLinkUploads, MaxLinkUploadBytes) })
}

// count counts the bytes that were read.
func (c *countedReader) count() error {
	if c.bytes == 0 {
		return nil
	}
	err := c.add(func(tx *store.Tx) error { return tx.CountLinkBytes(c.link, c.bytes, MaxLinkUploadBytes) })
	if err == nil {
		c.bytes = 0
	}
	return err
}

func (c *countedReader) add(count func(*store.Tx) error) error {
	err := c.service.update(c.ctx, count)
	if errors.Is(err, store.ErrConflict) {
		return tooManyUploads()
	}
	return err
}

func (c *countedReader) Read(b []byte) (int, error) {
	if c.bytes >= countBytes {
		if err := c.count(); err != nil {
			return 0, err
		}
	}
	n, err := c.from.Read(b)
	c.bytes += int64(n)
	return n, err
}

func tooManyUploads() error {
	return stateConflict("Too many files were uploaded by this link: 100 files with 1 GiB together are allowed, unused ones included.")
}

// acceptsUpload refuses what the task does not ask for, before it is read. Codes: answer_invalid.
func (s *Service) acceptsUpload(ctx context.Context, o *openedLink, u *LinkUpload) error {
	request, err := s.taskRequest(ctx, &o.task)
	if err != nil {
		return err
	}
	refuse := func(code, detail string) error {
		return answerInvalid([]chargehand.FieldError{{Pointer: "/files", Code: code, Detail: detail}})
	}
	name, err := cleanFileName(u.Name)
	switch {
	case err != nil:
		return err
	case request.Upload == nil:
		return refuse("no_upload", "The task asks for no files.")
	case !request.Upload.Accepts(name, u.ContentType):
		return refuse("not_accepted", "The file "+name+" is none of: "+strings.Join(request.Upload.Accept, ", ")+".")
	}
	return nil
}

// LinkedFiles finds uploads by their texts, each once, and at most as many as a link may have. What is no such text of
// this link, is too old or was deleted is left out.
// Codes: task_link_not_found.
func (s *Service) LinkedFiles(ctx context.Context, secret string, texts []string) (list []LinkedFile, err error) {
	o, err := s.openLink(ctx, secret)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	err = s.view(ctx, func(r *store.Reader) error {
		list = nil
		for id, text := range s.uploadsOf(&o, texts) {
			row, err := r.FileByID(o.task.Account, o.task.Environment, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			list = append(list, LinkedFile{ID: id, Text: text, Name: row.Name, Size: row.Size, Reference: fileReference(&row)})
		}
		return nil
	})
	return list, err
}

// uploadsOf reads the texts of uploads, each once and in their order.
func (s *Service) uploadsOf(o *openedLink, texts []string) iter.Seq2[chargehand.FileID, string] {
	return func(yield func(chargehand.FileID, string) bool) {
		seen := map[chargehand.FileID]bool{}
		for _, text := range texts {
			id, ok := s.uploadOf(o, text)
			if !ok || seen[id] {
				continue
			}
			if seen[id] = true; len(seen) > MaxLinkUploads || !yield(id, text) {
				return
			}
		}
	}
}

// uploadOf reads the text of an upload.
func (s *Service) uploadOf(o *openedLink, text string) (id chargehand.FileID, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || id.UnmarshalText([]byte(parts[0])) != nil {
		return id, false
	}
	expires, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || strconv.FormatInt(expires, 10) != parts[1] {
		return id, false
	}
	return id, s.signer.Verify(o.upload(id, expires), parts[2], s.now()) == nil
}

// AnswerByLink is the answer to a task by the holder of a link.
type AnswerByLink struct {
	Secret           string
	Outcome, Comment string
	Data             value.Value // nil: there is no form
	Files            []string    // ids of uploads, for the files of the answer
	Uploads          []string    // texts of all uploads that the answer may refer to
}

// body is the answer as one of the API. Codes: invalid_body.
func (q *AnswerByLink) body() (givenAnswer, error) {
	fields := map[string]any{"outcome": q.Outcome}
	if q.Comment != "" {
		fields["comment"] = q.Comment
	}
	if q.Data != nil {
		fields["data"] = q.Data
	}
	files := make([]any, len(q.Files))
	for i, id := range q.Files {
		files[i] = id
	}
	if len(files) > 0 {
		fields["files"] = files
	}
	return readAnswer(fields)
}

// AnswerTaskByLink answers a task as the addressee of a link. The same answer by the same link again changes nothing.
// Codes: task_link_not_found, not_assigned, excluded, claimed_by_other, invalid_body, answer_invalid, answer_conflict,
// task_withdrawn, state_conflict (the link was revoked, has expired, or its addressee may not answer any more).
func (s *Service) AnswerTaskByLink(ctx context.Context, q AnswerByLink) error {
	body, err := q.body()
	if err != nil {
		return err
	}
	for range maxAnswerTries {
		if err := s.answerByLink(ctx, &q, body); !errors.Is(err, errTaskChanged) {
			return err
		}
	}
	return &chargehand.Error{Code: chargehand.CodeUnavailable, Detail: "The task changes too often at the moment. Nothing was answered.", RetryAfter: 1}
}

// answerByLink tries once to answer a task. Errors: errTaskChanged: read the task again.
func (s *Service) answerByLink(ctx context.Context, q *AnswerByLink, body givenAnswer) error {
	o, err := s.openLink(ctx, q.Secret)
	if err != nil {
		return err
	}
	switch o.state {
	case LinkRevoked, LinkExpired, LinkRefused:
		return linkEnded()
	case LinkTaken: // the holder of a link does not learn by whom
		return chargehand.NewError(chargehand.CodeClaimedByOther, "Another person works on the task.")
	case LinkAnswered: // nor by whom, or what the answer was
		return chargehand.NewError(chargehand.CodeAnswerConflict, "The task was answered in another way, at "+o.at.Format(time.RFC3339)+".")
	}
	p, _, err := s.linkAnswerer(ctx, &o, q)
	if err != nil {
		return err
	}
	return s.answerAs(ctx, p, o.task, &o.who, body, func(tx *store.Tx) error {
		again := openedLink{task: o.task} // as it was before the answer
		if again.link, err = tx.TaskLinkByID(o.task.No, o.link.ID); err != nil {
			return notFoundIs(err, noSuchLink)
		}
		if err := s.judgeLink(&tx.Reader, &again); err != nil {
			return err
		}
		if again.state != LinkOpen {
			return linkEnded()
		}
		return nil
	})
}

// linkAnswerer is the holder of a link. The holder may use the files of the execution that the form is filled with, and
// those of an answer that were uploaded by the link.
func (s *Service) linkAnswerer(ctx context.Context, o *openedLink, q *AnswerByLink) (*Principal, human.Request, error) {
	request, err := s.taskRequest(ctx, &o.task)
	if err != nil {
		return nil, request, err
	}
	var files []chargehand.FileID
	err = s.view(ctx, func(r *store.Reader) error {
		known, err := filesOfExecution(r, &o.task, request.Data)
		files = slices.Collect(maps.Keys(known))
		return err
	})
	if err != nil {
		return nil, request, err
	}
	for id := range s.uploadsOf(o, q.Uploads) {
		files = append(files, id)
	}
	return o.principal(files), request, nil
}

// CheckAnswerByLink says whether an answer would be valid, and changes nothing. Without an outcome, those are not
// looked at. Codes: task_link_not_found, invalid_body, answer_invalid, state_conflict (the task cannot be answered by
// the link, not even when another person has released it).
func (s *Service) CheckAnswerByLink(ctx context.Context, q AnswerByLink) error {
	o, err := s.openLink(ctx, q.Secret)
	if err != nil {
		return err
	}
	if o.state != LinkOpen && o.state != LinkTaken {
		return linkEnded()
	}
	p, request, err := s.linkAnswerer(ctx, &o, &q)
	if err != nil {
		return err
	}
	if q.Outcome == "" {
		q.Outcome = request.Outcomes[0].Name
	}
	body, err := q.body()
	if err != nil {
		return err
	}
	_, _, err = s.checkAnswer(ctx, p, &request, body)
	return err
}

func linkEnded() error {
	return stateConflict("The task cannot be answered by this link any more.")
}
