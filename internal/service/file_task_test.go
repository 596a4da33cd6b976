package service

import (
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// refer is a file as workflows refer to it.
func refer(id chargehand.FileID) map[string]any {
	return map[string]any{"uri": filesPath + id.String(), "name": "x.txt", "mediaType": "text/plain", "size": 1}
}

// TestTaskShowsItsFiles: a person who sees a task reads the files that it shows, as long as that is so, and no others,
// whatever is asked for.
func TestTaskShowsItsFiles(t *testing.T) {
	fx := newHumanFixture(t)
	m := fx.member("ada", store.Grant{Role: "participant"})
	ada, ben := fx.session(fx.signIn(m), chargehand.Live), fx.as("ben", "participant")
	made, given, secret, named := fx.upload(fx.p, "made.txt", "made"), fx.upload(fx.p, "given.txt", "given"), fx.upload(fx.p, "secret.txt", "s"), fx.upload(fx.p, "named.txt", "n")
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(fx.e.ID)
		if err != nil {
			return err
		}
		for _, f := range []*File{made, given} {
			file, err := tx.FileByID(fx.account.No, chargehand.Live, f.ID)
			if err == nil {
				err = tx.UseFile(file.No, row.No)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// One reference is made up: the workflow has it from the data of a person.
	nested := refer(made.ID)
	nested["more"] = refer(named.ID)
	task := fx.open(map[string]any{
		"assignees": people([]any{m.Person.Email}, nil, nil), "files": []any{nested, refer(secret.ID)}, "show": map[string]any{"also": refer(given.ID)},
		"upload": map[string]any{"max": 2},
	})
	other := fx.open(map[string]any{"assignees": people([]any{"cleo@example.org"}, nil, nil), "files": []any{refer(given.ID)}})
	reads := func(p *Principal, id chargehand.FileID, by chargehand.HumanTaskID) error {
		t.Helper()
		p, err := May(p, ScopeExecutionsRead, ScopeExecutionsReadOwn)
		if err != nil {
			return err
		}
		_, err = fx.GetFile(t.Context(), p, ReadFile{ID: id, Task: by}, view)
		_, content, opened := fx.OpenFile(t.Context(), p, ReadFile{ID: id, Task: by})
		if (err == nil) != (opened == nil) {
			t.Errorf("described: %v, opened: %v", err, opened)
		}
		if opened == nil {
			content.Close()
		}
		return err
	}
	if err := reads(ada, made.ID, task); err != nil {
		t.Errorf("a file that the task shows: %v", err)
	}
	unknown := newID[chargehand.HumanTaskID](fx.nowMs())
	for what, c := range map[string]struct {
		p    *Principal
		file chargehand.FileID
		task chargehand.HumanTaskID
	}{
		"without the task":                          {p: ada, file: made.ID},
		"by a task that is not there":               {ada, made.ID, unknown},
		"by the task of another person":             {ada, given.ID, other},
		"of the execution, but not among its files": {ada, given.ID, task},
		"made up, not of the execution":             {ada, secret.ID, task},
		"in a reference":                            {ada, named.ID, task},
		"the output of the execution":               {ada, chargehand.FileID(fx.e.ID), task},
		"the id of the task":                        {ada, chargehand.FileID(task), task},
		"of another person":                         {ben, made.ID, task},
		"in another environment":                    {fx.session(fx.signIn(m), chargehand.Test), made.ID, task},
		"of another account":                        {fx.stranger(), made.ID, task},
	} {
		if err := reads(c.p, c.file, c.task); err == nil {
			t.Errorf("%s: it may be read", what)
		} else {
			wantCode(t, err, chargehand.CodeFileNotFound)
		}
	}

	// The files of an answer are shown, too: to its author, and to others who see the task.
	photo := fx.upload(ada, "photo.txt", "photo")
	if err := fx.answer(ada, task, map[string]any{"files": []any{photo.ID.String()}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []chargehand.FileID{made.ID, photo.ID} {
		if err := reads(ada, id, task); err != nil {
			t.Errorf("after the answer: %v", err)
		}
	}
	wantCode(t, reads(ben, photo.ID, task), chargehand.CodeFileNotFound)

	// A task that is given to another person shows that one its files, and the first one no more.
	moved := fx.open(map[string]any{"assignees": people([]any{m.Person.Email}, nil, nil), "files": []any{refer(made.ID)}})
	if err := reads(ada, made.ID, moved); err != nil {
		t.Error(err)
	}
	if _, err := fx.ReassignHumanTask(t.Context(), fx.p, moved, map[string]any{"users": []any{"ben@example.org"}}); err != nil {
		t.Fatal(err)
	}
	if err := reads(ben, made.ID, moved); err != nil {
		t.Errorf("whom it was given to: %v", err)
	}
	wantCode(t, reads(ada, made.ID, moved), chargehand.CodeFileNotFound)
}
