package service

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// fill gives a task links and comments of other people.
func (fx *humanFixture) fill(id chargehand.HumanTaskID, links, comments int) {
	fx.t.Helper()
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, id)
		for n := 0; n < links && err == nil; n++ {
			hash := sha256.Sum256(fmt.Append(nil, n))
			err = tx.InsertTaskLink(&store.TaskLink{
				ID: newID[chargehand.TaskLinkID](fx.nowMs()), Task: row.No, Hash: hash[:], Name: "Eve", Maker: 77, MakerID: "x", MakerName: "bot",
				CreatedMs: fx.nowMs(), ExpiresMs: fx.nowMs() + 1000,
			})
		}
		for n := 0; n < comments && err == nil; n++ {
			err = tx.InsertHumanComment(&row, &store.HumanComment{
				ID: newID[chargehand.HumanTaskID](fx.nowMs()), Author: 77, ByID: "x", ByName: "bot", Text: "again", CreatedMs: fx.nowMs(),
			})
		}
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
}

// TestConcurrentMakersOfLinksAndComments: when there is room for one more link or comment, and several are made at the
// same time, one is made.
func TestConcurrentMakersOfLinksAndComments(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		id := fx.open(nil)
		fx.fill(id, MaxTaskLinks-1, MaxTaskComments-1)
		for name, do := range map[string]func() error{
			"links": func() error { _, _, err := fx.link(fx.p, id, map[string]any{}); return err },
			"comments": func() error {
				_, _, err := fx.CommentHumanTask(t.Context(), fx.p, id, map[string]any{"text": "one more"}, nil)
				return err
			},
		} {
			errs := make([]error, 8)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = do() })
			}
			all.Wait()
			made := 0
			for _, err := range errs {
				var refused *chargehand.Error
				switch {
				case err == nil:
					made++
				case !errors.As(err, &refused) || refused.Code != chargehand.CodeStateConflict:
					t.Errorf("%s: %v", name, err)
				}
			}
			if made != 1 {
				t.Errorf("%s: %d were made, and there was room for one", name, made)
			}
		}
		shown, err := fx.GetHumanTask(t.Context(), fx.p, id)
		if err != nil || len(shown.Full.Comments) != MaxTaskComments || len(shown.Full.Links) != MaxTaskLinks {
			t.Errorf("%d comments, %d links, %v", len(shown.Full.Comments), len(shown.Full.Links), err)
		}
	})
}

// TestConcurrentLinkAndEndOfATask: a link is made before the end of its task, or not at all, so that the end finds it.
func TestConcurrentLinkAndEndOfATask(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada := fx.as("ada", "operator")
		for range 10 {
			id := fx.open(nil)
			var linked error
			var secret string
			var all sync.WaitGroup
			all.Go(func() { _, secret, linked = fx.link(ada, id, map[string]any{}) })
			all.Go(func() {
				if err := fx.answer(fx.p, id, map[string]any{}); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			if linked == nil {
				if state := fx.state(secret); state != LinkAnswered {
					t.Errorf("the link is in state %d", state)
				}
			} else {
				wantCode(t, linked, chargehand.CodeStateConflict)
			}
		}
		var open int64
		err := fx.db.View(t.Context(), func(c store.Conn) error {
			return c.Query(`SELECT COUNT(*) FROM human_link WHERE maker < 0 AND task_ended = 0`, func(r store.Row) error {
				open = r.Int(0)
				return nil
			})
		})
		if err != nil || open != 0 {
			t.Errorf("%d links of tasks that have ended are to be revoked with their maker (%v)", open, err)
		}
	})
}
