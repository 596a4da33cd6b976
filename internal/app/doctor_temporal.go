package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/store"
)

// checkTemporal checks that Temporal can be reached, is set up, and is where the executions of the database are.
func checkTemporal(ctx context.Context, cfg Config) (string, error) {
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
	rows, err := openBeside(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var name, cluster []byte
	err = rows.View(ctx, func(r *store.Reader) error {
		for key, value := range map[string]*[]byte{metaName: &name, metaNamespace: &cluster} {
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
