package servertest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// TestForeignSettings: a shell may name the installation that an operator works with. Tests must not reach it.
func TestForeignSettings(t *testing.T) {
	t.Setenv("CHARGEHAND_DATABASE_URL", "postgres://127.0.0.1:1/of-an-operator")
	t.Setenv("CHARGEHAND_MASTER_KEY_FILE", "/of-an-operator")
	t.Setenv("CHARGEHAND_LISTEN", "192.0.2.1:8080")
	s := Start(t, Options{})
	if a := s.Do(t, "GET", "/workflows", ""); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
