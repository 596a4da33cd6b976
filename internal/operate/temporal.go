package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/store"
)

// setupTime bounds the check of Temporal's set-up.
const setupTime = 5 * time.Second

// checkTemporal checks that Temporal can be reached, is set up, and is where the executions of the database are.
func checkTemporal(ctx context.Context, cfg installation.Settings) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	c, err := temporal.Connect(cfg.Temporal.Dial)
	if err != nil {
		return "", err
	}
	defer c.Close()
	t := cfg.Temporal
	id, err := temporal.Check(ctx, c, t.Namespace)
	switch {
	case errors.Is(err, temporal.ErrSetup):
		return "", err
	case err != nil:
		return "", fmt.Errorf("%s does not answer as it should: %w", t.Address, err)
	}
	rows, err := cfg.OpenBeside(ctx)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var name, cluster []byte
	err = rows.View(ctx, func(r *store.Reader) error {
		for key, value := range map[string]*[]byte{installation.MetaName: &name, installation.MetaNamespace: &cluster} {
			if *value, err = r.Meta(key); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if len(name) == 0 || len(cluster) == 0 {
		return fmt.Sprintf("namespace %s at %s is set up; no server has begun there", t.Namespace, t.Address), nil
	}
	if string(cluster) != id+" "+t.Queue {
		return "", fmt.Errorf("namespace %s at %s with the task queue %s is not where the executions of the database are", t.Namespace, t.Address, t.Queue)
	}
	workers, err := temporal.Workers(ctx, c, t.Queue+"-"+string(name))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("namespace %s at %s is set up, and that of the executions; workers that ask for work: %d", t.Namespace, t.Address, workers), nil
}

// SetUpTemporal makes the namespace and the search attributes that executions need, and says
// what it did.
func SetUpTemporal(ctx context.Context, cfg installation.Settings, retention time.Duration) ([]string, error) {
	if retention < 24*time.Hour {
		return nil, installation.BadSetting("--retention: %s is less than a day, the least that Temporal keeps", retention)
	}
	if !installation.IsAddress(cfg.Temporal.Address) {
		return nil, installation.BadSetting("--temporal-address: %q is not host:port", cfg.Temporal.Address)
	}
	c, err := temporal.Connect(cfg.Temporal.Dial)
	if err != nil {
		return nil, installation.BadSetting("%w", err)
	}
	defer c.Close()
	did, err := temporal.Setup(ctx, c, cfg.Temporal.Namespace, retention)
	if err != nil {
		return did, fmt.Errorf("set up Temporal at %s: %w", cfg.Temporal.Address, err)
	}
	return did, nil
}

// ForgetNamespace lets the executions of a database continue in another namespace, when theirs is
// lost for good: those that have begun end as errors of the system, because nothing of them is
// left but their rows. It returns their number. No process may serve the database.
func ForgetNamespace(ctx context.Context, cfg installation.Settings) (begun int64, err error) {
	if cfg.DatabaseURL == "" {
		return 0, installation.BadSetting("--database-url is missing: only an installation on PostgreSQL has a namespace")
	}
	cfg, err = cfg.WithDefaults()
	if err != nil {
		return 0, err
	}
	rows, err := cfg.OpenInstalled(ctx)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	err = rows.Update(ctx, func(tx *store.Tx) error {
		unfinished, err := tx.CountUnfinished()
		begun = unfinished[store.StateReady] + unfinished[store.StateActive] + unfinished[store.StateParked]
		if err != nil {
			return err
		}
		return tx.DeleteMeta(installation.MetaNamespace)
	})
	return begun, err
}
