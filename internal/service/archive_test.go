package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// archive opens an archive of an execution; the test closes it.
func (fx *fixture) archive(p *Principal, e *Execution) (*Archive, error) {
	fx.t.Helper()
	a, err := fx.Archive(fx.t.Context(), p, e.Workflow, e.ID, view)
	if err == nil {
		fx.t.Cleanup(a.Close)
	}
	return a, err
}

func contentDigest(text string) blob.Digest {
	sum := sha256.Sum256([]byte(text))
	return blob.DigestOf(sum[:])
}

// contents are the files of an archive, as name=content, with * for results and the seq of the run that names them.
func contents(t *testing.T, a *Archive) (list []string) {
	t.Helper()
	for i := range a.Files {
		f := &a.Files[i]
		from, err := a.Open(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		text := readAll(t, from)
		if int64(len(text)) != f.Size || f.SHA256 != contentDigest(text).String() {
			t.Errorf("%+v has the content %q", f, text)
		}
		entry := f.Name + "=" + text
		if f.Result {
			entry = "*" + entry
		}
		if f.Seq != 0 {
			entry += fmt.Sprint(" of ", f.Seq)
		}
		list = append(list, entry)
	}
	return list
}

// TestArchive: results come first, then what the tasks made and what the timeline names; what was deleted is missing.
func TestArchive(t *testing.T) {
	onBoth(t, func(t *testing.T, human *humanFixture) {
		fx := human.fixture
		flow := fx.apply(definition("one", "1.0.0"))
		e := fx.create(flow.ID, map[string]any{"n": 1})
		one, two, three := fx.result(e, "one.txt", "1"), fx.result(e, "two.txt", "22"), fx.result(e, "three.txt", "333")
		lost, named := fx.result(e, "lost.txt", "lost"), fx.upload(fx.p, "named.txt", "named")
		gone := newID[chargehand.FileID](7)
		_, made := timelineOf(t, string(definition("one", "1.0.0")), map[string]any{})
		file := func(id chargehand.FileID, name string) machine.File {
			return machine.File{ID: id.String(), Name: name, MediaType: "text/plain", Size: 4, Digest: "sha256:" + strings.Repeat("ab", 32)}
		}
		for i := range archivePage + 2 {
			entry := made[0]
			entry.Seq, entry.Phase, entry.EndedMs, entry.Wait = i+1, chargehand.Completed, epoch.UnixMilli()+1, nil
			fx.engine.lines = append(fx.engine.lines, entry)
		}
		fx.engine.lines[1].Files = []machine.File{file(one, "one.txt"), file(lost, "lost.txt")}
		fx.engine.lines[3].Files = []machine.File{file(one, "one.txt"), file(named.ID, "named.txt"), file(gone, "gone.txt")}
		fx.engine.cut = true
		running, err := fx.archive(fx.p, e)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := contents(t, running), []string{"one.txt=1 of 2", "two.txt=22", "three.txt=333", "lost.txt=lost of 2", "named.txt=named of 4"}; !slices.Equal(got, want) {
			t.Errorf("of a running one there are %q, want %q", got, want)
		}
		if running.Execution.Output != nil || string(running.Execution.Input) != `{"n":1}` || !running.Truncated {
			t.Errorf("the running one is %+v", running.Execution)
		}
		running.Close()

		output := `{"file":{"uri":"/api/v1/files/` + two.String() + `"}}`
		files := `["` + three.String() + `","` + two.String() + `","` + lost.String() + `"]`
		if err := fx.engine.end(t.Context(), e.ID, chargehand.Finished, chargehand.Completed, &store.Outcome{Output: inline(output), Files: []byte(files)}); err != nil {
			t.Fatal(err)
		}
		if err := fx.DeleteFile(t.Context(), fx.p, lost); err != nil {
			t.Fatal(err)
		}
		a, err := fx.archive(fx.p, e)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := contents(t, a), []string{"*three.txt=333", "*two.txt=22", "one.txt=1 of 2", "named.txt=named of 4"}; !slices.Equal(got, want) {
			t.Errorf("there are %q, want %q", got, want)
		}
		if len(a.Missing) != 2 || a.Missing[0].Name != "lost.txt" || !a.Missing[0].Result || a.Missing[0].Seq != 2 || a.Missing[1].ID != gone || a.Missing[1].Result {
			t.Errorf("missing are %+v", a.Missing)
		}
		if string(a.Definition) != string(definition("one", "1.0.0")) || a.DefinitionType != mediaYAML || !strings.Contains(string(a.Execution.Output), "https://example.com/") {
			t.Errorf("definition %q of %s, output %s", a.Definition, a.DefinitionType, a.Execution.Output)
		}
		n := int64(0)
		err = a.Timeline(t.Context(), func(r *TimelineEntry) error {
			if n++; r.Seq != n || string(r.Input) == "" || r.Seq == 2 && len(r.Files) != 2 {
				t.Errorf("run %d is %+v", n, r)
			}
			return nil
		})
		if err != nil || n != archivePage+2 {
			t.Errorf("%d runs, %v", n, err)
		}
	})
}

// TestArchiveOfOutput: without result files, the output is one, as in the results.
func TestArchiveOfOutput(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.InlinePayloadBytes = 100 })
	flow := fx.apply(definition("one", "1.0.0"))
	for _, output := range []string{`{"done":true}`, `{"long":"` + strings.Repeat("x", 200) + `"}`} {
		e := fx.create(flow.ID, noInput)
		packed, err := fx.pack(t.Context(), []byte(output))
		if err != nil {
			t.Fatal(err)
		}
		if err := fx.engine.end(t.Context(), e.ID, chargehand.Finished, chargehand.Completed, &store.Outcome{Output: packed}); err != nil {
			t.Fatal(err)
		}
		a, err := fx.archive(fx.p, e)
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, a); !slices.Equal(got, []string{"*output.json=" + output}) || string(a.Execution.Output) != output {
			t.Errorf("there are %q of %s", got, a.Execution.Output)
		}
		a.Close()
	}
	failed := fx.create(flow.ID, noInput)
	if _, _, err := fx.CancelExecution(t.Context(), fx.p, ChangeExecution{Workflow: flow.ID, Execution: failed.ID}); err != nil {
		t.Fatal(err)
	}
	if a, err := fx.archive(fx.p, failed); err != nil || len(a.Files) != 0 || a.Execution.Error == nil {
		t.Errorf("of one that was cancelled: %+v, %v", a, err)
	}
}

// TestArchiveLog: the log is there as it is read, from its first line.
func TestArchiveLog(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	a, err := fx.archive(fx.p, fx.create(flow.ID, noInput))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Log(t.Context(), func(*LogLine) error { return errors.New("there is a line") }); err != nil {
		t.Error(err)
	}
}

// TestArchiveOfGoneContent: content that is gone is another error than storage that cannot be reached.
func TestArchiveOfGoneContent(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	id := fx.result(e, "one.txt", "1")
	a, err := fx.archive(fx.p, e)
	if err != nil || len(a.Files) != 1 || a.Files[0].ID != id {
		t.Fatalf("%+v, %v", a, err)
	}
	fx.removeContent("1")
	_, err = a.Open(t.Context(), 0)
	wantCode(t, err, chargehand.CodeFileNotFound)
	fx.db.broken.Store(true)
	wantCode(t, a.Timeline(t.Context(), func(*TimelineEntry) error { return nil }), chargehand.CodeUnavailable)
	wantCode(t, a.Log(t.Context(), func(*LogLine) error { return nil }), chargehand.CodeUnavailable)
}

// TestArchiveIsHidden: a key that does not see the execution does not see its archive, and one that does not read
// definitions finds none in it.
func TestArchiveIsHidden(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	for name, p := range map[string]*Principal{
		"another environment": fx.test, "another account": fx.stranger(), "another workflow": fx.principal(chargehand.Live, PresetAll, other.ID),
	} {
		_, err := fx.archive(p, e)
		if wantCode(t, err, chargehand.CodeExecutionNotFound); t.Failed() {
			t.Fatal(name)
		}
	}
	_, err := fx.Archive(t.Context(), fx.p, other.ID, e.ID, view)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
	fx.pass(1) // another key
	others, err := May(fx.principal(chargehand.Live, ScopeExecutionsReadOwn), ScopeExecutionsRead, ScopeExecutionsReadOwn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fx.archive(others, e)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
	if a, err := fx.archive(fx.principal(chargehand.Live, ScopeExecutionsRead), e); err != nil || a.Definition != nil {
		t.Errorf("without workflows:read: %+v, %v", a, err)
	}
	if a, err := fx.archive(fx.principal(chargehand.Live, ScopeExecutionsRead|ScopeWorkflowsRead, flow.ID), e); err != nil || a.Definition == nil {
		t.Errorf("of a key for the workflow: %+v, %v", a, err)
	}
}

// TestArchiveLimits: more than an archive may have is refused before anything of it is read.
func TestArchiveLimits(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	for i := range 3 {
		fx.result(e, fmt.Sprint(i), strings.Repeat("x", 10+i))
	}
	try := func(files int, bytes int64) error {
		fx.archiveFiles, fx.archiveBytes = files, bytes
		a, err := fx.archive(fx.p, e)
		if err == nil {
			a.Close()
		}
		return err
	}
	if err := try(3, 33); err != nil {
		t.Error(err)
	}
	wantCode(t, try(2, 33), chargehand.CodeArchiveTooLarge)
	wantCode(t, try(3, 32), chargehand.CodeArchiveTooLarge)
	_, made := timelineOf(t, string(definition("one", "1.0.0")), map[string]any{})
	for i := range 4 {
		made[0].Files = append(made[0].Files, machine.File{ID: newID[chargehand.FileID](int64(i)).String(), Digest: "sha256:"})
	}
	fx.engine.lines = made[:1]
	wantCode(t, try(3, 100), chargehand.CodeArchiveTooLarge)
	wantCode(t, try(6, 100), chargehand.CodeArchiveTooLarge)
	if err := try(7, 100); err != nil {
		t.Error(err)
	}
}

// TestArchivePermits: a key, an account and the server have a number of archives at once; a refusal takes none.
func TestArchivePermits(t *testing.T) {
	fx := newFixture(t)
	e := fx.create(fx.apply(definition("one", "1.0.0")).ID, noInput)
	for range 3 * MaxArchives { // what failed holds no permit
		_, err := fx.archive(fx.test, e)
		wantCode(t, err, chargehand.CodeExecutionNotFound)
	}
	var open []*Archive
	take := func(n int) {
		t.Helper()
		for range n {
			a, err := fx.archive(fx.p, e)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, a)
		}
	}
	take(MaxArchivesPerKey)
	_, err := fx.archive(fx.p, e)
	if refused := wantCode(t, err, chargehand.CodeRateLimited); refused.RetryAfter == 0 || !strings.Contains(refused.Detail, "archives_per_key") {
		t.Errorf("%+v", refused)
	}
	open[0].Close()
	open[0].Close() // once is enough
	take(1)
	_, err = fx.archive(fx.p, e)
	wantCode(t, err, chargehand.CodeRateLimited)

	var permits archivePermits
	taken := 0
	for account := range int64(4) {
		for key := range int64(4) {
			p := &Principal{AccountNo: account, KeyNo: key + 1, Environment: chargehand.Live}
			for {
				if _, err := permits.enter(p); err != nil {
					break
				}
				taken++
			}
		}
		if most := min(MaxArchives, (int(account)+1)*archivesOfAccount); taken != most {
			t.Errorf("%d accounts have %d archives, want %d", account+1, taken, most)
		}
	}
}

// removeContent takes a content out of the blob store.
func (fx *fixture) removeContent(text string) {
	fx.t.Helper()
	if err := fx.blobs.Delete(context.Background(), contentDigest(text)); err != nil {
		fx.t.Fatal(err)
	}
}
