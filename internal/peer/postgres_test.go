package peer

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestPostgres makes sure that a server that is killed keeps what it has committed, that
// a paused one does not answer, and that nothing of it is left behind.
func TestPostgres(t *testing.T) {
	p := StartPostgres(t)
	url := p.NewDatabase(t)
	run := func(within time.Duration, text string) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		_, err = c.Exec(ctx, text)
		return err
	}
	if err := run(time.Minute, "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := run(time.Minute, "SELECT 1"); err == nil {
		t.Error("a server that was killed answers")
	}
	p.Start()
	if err := run(time.Minute, "INSERT INTO kept VALUES (1)"); err != nil {
		t.Error("after a crash:", err)
	}
	p.Pause(true)
	if err := run(200*time.Millisecond, "SELECT 1"); err == nil {
		t.Error("a paused server answers")
	}
	p.Pause(false)
	if err := run(time.Minute, "SELECT 1"); err != nil {
		t.Error("after a pause:", err)
	}
	p.Restart()
	if err := run(time.Minute, "SELECT 1"); err != nil {
		t.Error("after a restart:", err)
	}
	pids := p.processes()
	if len(pids) < 4 {
		t.Errorf("processes %v", pids)
	}
	p.Stop()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left behind", pid)
		}
	}
}
