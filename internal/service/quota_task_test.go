package service

import (
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// TestQuotaOfHumanTasks: comments and drafts count for their author, tasks and answers for the starter of the
// execution. An answer is taken whatever was used before.
func TestQuotaOfHumanTasks(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.KeyStorageBytes = 1000 })
	human := &humanFixture{fixture: fx, e: fx.create(fx.apply(definition("asks", "1.0.0")).ID, nil)}
	used := func(actor int64) (bytes int64) {
		t.Helper()
		err := fx.rows.View(t.Context(), func(r *store.Reader) error {
			u, err := r.Usage(store.UsageOwner{Account: fx.account.No, Environment: chargehand.Live, Actor: actor})
			bytes = u.Bytes
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	ada := fx.as("ada", "operator")
	before := used(fx.p.actor())
	id := human.open(map[string]any{"title": "Ask"})
	if n := used(fx.p.actor()) - before; n != int64(len(`{"title":"Ask"}`)) {
		t.Errorf("a task counts %d bytes", n)
	}
	comment := func(bytes int) error {
		_, _, err := fx.CommentHumanTask(t.Context(), ada, id, map[string]any{"text": strings.Repeat("x", bytes)}, nil)
		return err
	}
	draft := func(bytes int) error {
		body := map[string]any{}
		if rest := bytes - len(`{"comment":""}`); rest > 0 {
			body["comment"] = strings.Repeat("x", rest)
		}
		_, err := fx.PutHumanTaskDraft(t.Context(), ada, id, body)
		return err
	}
	for i, step := range []struct {
		do    func(int) error
		bytes int
		fits  bool
		used  int64
	}{
		{comment, 600, true, 600}, {draft, 300, true, 900}, {comment, 101, false, 900}, {draft, 401, false, 900}, {draft, 400, true, 1000},
		{draft, 400, true, 1000}, {draft, 100, true, 700}, {comment, 300, true, 1000}, {comment, 1, false, 1000}, {draft, 0, true, 900}, {comment, 100, true, 1000},
	} {
		err := step.do(step.bytes)
		if (err == nil) != step.fits {
			t.Fatalf("step %d: %v", i, err)
		}
		if !step.fits {
			wantQuota(t, err, "key_storage_bytes", "user", 1000)
		}
		if n := used(ada.actor()); n != step.used {
			t.Errorf("step %d: %d bytes are used, want %d", i, n, step.used)
		}
	}
	fx.pass(2 * time.Second) // what the engine stores shows after a second
	if err := fx.tryUpload(fx.p, strings.Repeat("x", int(1000-used(fx.p.actor())))); err != nil {
		t.Fatal(err)
	}
	wantQuota(t, fx.tryUpload(fx.p, "x"), "key_storage_bytes", "key", 1000)
	if err := human.answer(ada, id, map[string]any{"comment": strings.Repeat("x", 500)}); err != nil {
		t.Fatal(err)
	}
	if n := used(fx.p.actor()); n < 1500 || n > 2000 {
		t.Errorf("with the answer %d bytes are used", n)
	}
}
