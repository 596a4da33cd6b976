package app

import (
	"errors"
	"testing"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
)

// TestNamespaceIsRemembered: executions that have begun stay with their namespace and their task
// queues, until an operator gives them up.
func TestNamespaceIsRemembered(t *testing.T) {
	url, master := peer.StartPostgres(t).NewDatabase(t), apptest.MasterFile(t)
	cfg := installation.Settings{DatabaseURL: url, MasterKeyFile: master}
	i := install(t, t.TempDir(), func(c *Config) {
		c.DatabaseURL, c.MasterKeyFile, c.Engine = url, master, installation.EngineTemporal
		c.Temporal.Address = "127.0.0.1:1" // away: the execution is accepted and gets its slot
	})
	id := i.Apply(apptest.Definition("set", "{set: {x: 1}}"))
	if status, e := i.Ask("POST", "/workflows/"+id+"/executions", "", ""); status != 201 {
		t.Fatalf("start: %d %v", status, e)
	}
	db, err := cfg.OpenBeside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	apptest.Await(t, func() bool {
		var unfinished store.StateCounts
		err := db.View(t.Context(), func(r *store.Reader) (err error) {
			unfinished, err = r.CountUnfinished()
			return err
		})
		return err == nil && unfinished[store.StateActive] == 1
	})
	i.Halt()
	here := installation.Temporal{Queue: "a"}
	if err := installation.CheckNamespace(t.Context(), db, "one", here); err != nil {
		t.Fatal(err)
	}
	for id, at := range map[string]installation.Temporal{"two": here, "one": {Queue: "b"}} {
		var wrong *installation.SettingError
		if err := installation.CheckNamespace(t.Context(), db, id, at); !errors.As(err, &wrong) {
			t.Errorf("namespace %s, queue %s: %v", id, at.Queue, err)
		}
	}
	if begun, err := operate.ForgetNamespace(t.Context(), cfg); err != nil || begun != 1 {
		t.Fatalf("forget: %d, %v", begun, err)
	}
	if err := installation.CheckNamespace(t.Context(), db, "two", here); err != nil {
		t.Errorf("after the namespace was forgotten: %v", err)
	}
}
