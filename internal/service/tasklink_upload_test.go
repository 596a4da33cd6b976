package service

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// What is uploaded by a link is used by that link alone, and a link names no other files.
func TestUploadsByLinks(t *testing.T) {
	fx := newHumanFixture(t)
	ctx := t.Context()
	form := map[string]any{"type": "object", "properties": map[string]any{"scan": map[string]any{"type": "object", "format": "file-ref"}}}
	id := fx.open(map[string]any{"form": form, "upload": map[string]any{"accept": []any{".pdf"}, "max": 1}})
	one, two := fx.linked(fx.p, id, map[string]any{}), fx.linked(fx.p, id, map[string]any{})
	upload := func(secret, name string) LinkedFile {
		t.Helper()
		f, err := fx.UploadByLink(ctx, secret, LinkUpload{Name: name, ContentType: "application/pdf", Content: strings.NewReader("content")})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pdf, other := upload(one, "a/b\\c.pdf"), upload(two, "d.pdf")
	if pdf.Name != "c.pdf" || pdf.Size != 7 {
		t.Errorf("uploaded %+v", pdf)
	}
	found, err := fx.LinkedFiles(ctx, one, []string{pdf.Text, pdf.Text, other.Text, pdf.Text + "x", pdf.ID.String(), "..", ""})
	if err != nil || len(found) != 1 || found[0].ID != pdf.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	foreign, _, err := fx.UploadFile(ctx, fx.p, UploadFile{Name: "secret.pdf", ContentType: "application/pdf", Content: strings.NewReader("secret")})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(secret string, q AnswerByLink) error {
		q.Secret, q.Outcome = secret, "done"
		if q.Data == nil {
			q.Data = map[string]any{}
		}
		return fx.AnswerTaskByLink(ctx, q)
	}
	reference := map[string]any{"uri": chargehand.FilesPath + foreign.ID.String()}
	for name, q := range map[string]AnswerByLink{
		"a file of another":                {Files: []string{foreign.ID.String()}},
		"that of another link":             {Files: []string{other.ID.String()}, Uploads: []string{other.Text}},
		"an upload whose text is not sent": {Files: []string{pdf.ID.String()}},
		"a reference in the data":          {Data: map[string]any{"scan": reference}},
		"too many":                         {Files: []string{pdf.ID.String(), pdf.ID.String()}, Uploads: []string{pdf.Text}},
	} {
		wantRefusal(t, name, answer(one, q), chargehand.CodeAnswerInvalid)
	}
	text := upload(one, "notes.txt")
	wantRefusal(t, "another kind", answer(one, AnswerByLink{Files: []string{text.ID.String()}, Uploads: []string{text.Text}}), chargehand.CodeAnswerInvalid)
	_, err = fx.UploadByLink(ctx, one, LinkUpload{Name: "notes.txt", ContentType: "text/plain", Content: strings.NewReader("x"), ForAnswer: true})
	wantCode(t, err, chargehand.CodeAnswerInvalid)
	for range MaxLinkUploads - 2 {
		upload(two, "more.pdf")
	}
	part, rest := io.Pipe() // one that takes long counts from its beginning
	slow := make(chan error)
	go func() {
		_, err := fx.UploadByLink(ctx, two, LinkUpload{Name: "slow.pdf", Content: part})
		slow <- err
	}()
	if _, err := io.WriteString(rest, "slow"); err != nil {
		t.Fatal(err)
	}
	_, err = fx.UploadByLink(ctx, two, LinkUpload{Name: "more.pdf", Content: strings.NewReader("x")})
	wantCode(t, err, chargehand.CodeStateConflict)
	rest.Close()
	if err := <-slow; err != nil {
		t.Error(err)
	}
	// Bytes count while they are read.
	err = fx.rows.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, id)
		if err != nil {
			return err
		}
		links, err := tx.TaskLinks(row.No, 2)
		if err != nil {
			return err
		}
		return tx.CountLinkBytes(links[0].No, MaxLinkUploadBytes-countBytes-links[0].UploadBytes, MaxLinkUploadBytes)
	})
	if err != nil {
		t.Fatal(err)
	}
	endless := strings.NewReader(strings.Repeat("x", 3*countBytes))
	_, err = fx.UploadByLink(ctx, one, LinkUpload{Name: "endless.pdf", Content: endless})
	if wantCode(t, err, chargehand.CodeStateConflict); endless.Len() < countBytes/2 {
		t.Errorf("only %d bytes were not read", endless.Len())
	}
	fx.pass(23 * time.Hour)
	err = answer(one, AnswerByLink{Files: []string{pdf.ID.String()}, Uploads: []string{pdf.Text}, Data: map[string]any{"scan": pdf.Reference}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fx.UploadByLink(ctx, one, LinkUpload{Name: "late.pdf", Content: strings.NewReader("late")})
	wantCode(t, err, chargehand.CodeStateConflict)
}

// A definition can write the address of any file into a task. A link opens, and takes into the answer, only those that
// belong to the execution.
func TestLinksAndForeignFiles(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		foreign, own := fx.upload(fx.p, "foreign.txt", "secret"), fx.upload(fx.p, "own.txt", "open")
		reference := func(f *File) map[string]any { return map[string]any{"uri": chargehand.FilesPath + f.ID.String()} }
		uses := func(f *File) (used bool) {
			t.Helper()
			err := fx.rows.View(t.Context(), func(r *store.Reader) error {
				row, err := r.FindExecution(fx.e.ID)
				if err != nil {
					return err
				}
				file, err := r.FindFile(f.ID)
				if err != nil {
					return err
				}
				used, err = r.UsesFile(file.No, row.No)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return used
		}
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			row, err := tx.FindExecution(fx.e.ID)
			if err != nil {
				return err
			}
			file, err := tx.FindFile(own.ID)
			if err != nil {
				return err
			}
			return tx.UseFile(file.No, row.No)
		})
		if err != nil {
			t.Fatal(err)
		}
		form := map[string]any{"type": "object", "properties": map[string]any{
			"scan": map[string]any{"type": "object", "format": "file-ref"}, "list": map[string]any{"type": "array"},
		}}
		both := map[string]any{"scan": reference(foreign), "list": []any{reference(own)}}
		for name, c := range map[string]struct {
			request  map[string]any
			files    int // of the execution, in the files of the task
			referred bool
		}{
			"show":  {map[string]any{"show": both}, 0, true},
			"data":  {map[string]any{"data": both}, 0, true},
			"files": {map[string]any{"files": []any{reference(foreign), reference(own)}}, 1, false},
		} {
			c.request["form"] = form
			secret := fx.linked(fx.p, fx.open(c.request), map[string]any{})
			seen, err := fx.LinkedTask(t.Context(), secret, view)
			if err != nil {
				t.Fatal(err)
			}
			if _, opens := seen.Referred[foreign.ID]; opens {
				t.Errorf("%s: the link opens a file that is not of the execution", name)
			}
			if _, opens := seen.Referred[own.ID]; opens != c.referred {
				t.Errorf("%s: the link opens the file of the execution: %t, want %t", name, opens, c.referred)
			}
			if len(seen.Files) != c.files || c.files == 1 && seen.Files[0].ID != own.ID {
				t.Errorf("%s: the files are %+v", name, seen.Files)
			}
		}

		id := fx.open(map[string]any{"form": form, "data": both})
		q := AnswerByLink{
			Secret: fx.linked(fx.p, id, map[string]any{}), Outcome: "done",
			Data: map[string]any{"scan": reference(foreign)},
		}
		wantCode(t, fx.CheckAnswerByLink(t.Context(), q), chargehand.CodeAnswerInvalid)
		wantCode(t, fx.AnswerTaskByLink(t.Context(), q), chargehand.CodeAnswerInvalid)
		if uses(foreign) {
			t.Error("an answer by a link has given the execution a file that it did not have")
		}
		q.Data = map[string]any{"scan": reference(own)}
		if err := fx.AnswerTaskByLink(t.Context(), q); err != nil {
			t.Errorf("an answer with the file of the execution: %v", err)
		}
	})
}

// What is uploaded by a link takes the room of its maker; of a link that the server has mailed, that of the starter of
// the execution.
func TestUploadsByLinksTakeRoom(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.KeyStorageBytes = 600 })
	human := &humanFixture{fixture: fx, e: fx.create(fx.apply(definition("asks", "1.0.0")).ID, nil)}
	ada := fx.as("ada", "operator")
	id := human.open(map[string]any{"upload": map[string]any{"max": 9}})
	upload := func(secret string, bytes int) error {
		_, err := fx.UploadByLink(t.Context(), secret, LinkUpload{Name: "a", Content: strings.NewReader(strings.Repeat("x", bytes)), ForAnswer: true})
		return err
	}
	own, mailed := human.linked(ada, id, map[string]any{}), human.mailed(id, "eve@example.com", "")
	if err := upload(own, 500); err != nil {
		t.Fatal(err)
	}
	if q := wantQuota(t, upload(own, 101), "key_storage_bytes", "user", 600).Quota; q.OwnerID != ada.User.String() || q.Used != 500 {
		t.Errorf("the quota is %+v", q)
	}
	wantQuota(t, fx.tryUpload(ada, strings.Repeat("x", 101)), "key_storage_bytes", "user", 600)
	if err := upload(mailed, 400); err != nil {
		t.Fatal(err)
	}
	if q := wantQuota(t, upload(mailed, 201), "key_storage_bytes", "key", 600).Quota; q.Used < 400 {
		t.Errorf("the quota is %+v", q)
	}
	wantQuota(t, fx.tryUpload(fx.p, strings.Repeat("x", 201)), "key_storage_bytes", "key", 600)
	err := fx.rows.View(t.Context(), func(r *store.Reader) error {
		task, err := r.HumanTaskByID(fx.account.No, chargehand.Live, id)
		if err != nil {
			return err
		}
		links, err := r.TaskLinks(task.No, 9)
		if len(links) != 2 || links[0].Uploads != 2 || links[1].Uploads != 2 {
			t.Errorf("the links are %+v", links)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
