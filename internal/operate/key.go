package operate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
)

// NewKey is the request of the command line to make a key.
type NewKey struct {
	Name        string
	Environment string // "live" or "test"
	Preset      string // empty, with no Scopes: "run"
	Scopes      []string
	Life        time.Duration // 0: without end
	Workflows   []string      // the only ones that it sees, by id or namespace/name
	Namespaces  []string      // the only ones that it sees
	Addresses   []string      // the only ones that it may be used from, or ranges of them
	RateLimit   *int64        // requests per second, 0: no limit; nil: the installation's
	Init        bool          // make the installation if there is none
}

// CreateKey makes a key, beside a running server or without one, and returns it in plain text: the only time that it
// can be seen. Errors: *installation.SettingError where there is no installation, because a key of a new one would work
// nowhere.
func CreateKey(ctx context.Context, cfg installation.Settings, k NewKey) (string, error) {
	request, err := k.issue()
	if err != nil {
		return "", err
	}
	cfg, err = cfg.WithDefaults()
	if err != nil {
		return "", err
	}
	open := cfg.OpenInstalled
	if k.Init {
		open = cfg.OpenBeside
	} else if err := cfg.CheckInstalled(); err != nil {
		return "", err
	}
	ring, err := cfg.Keyring()
	if err != nil {
		return "", err
	}
	rows, err := open(ctx)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	keys, err := installation.OpenKeys(ctx, rows, ring)
	if err != nil {
		return "", err
	}
	key, err := service.Issue(audit.FromCommand(ctx, "keys create"), rows, keys.Of(secret.APIKeyPepper), time.Now(), request)
	var refused *chargehand.Error
	switch {
	case !errors.As(err, &refused):
		return key, err
	case refused.Code == chargehand.CodeWorkflowNotFound:
		return "", installation.BadSetting("--workflows or --namespaces: %s", refused.Detail)
	case refused.Code == chargehand.CodeInvalidParameter:
		return "", installation.BadSetting("%s", refused.Detail)
	}
	return "", err
}

func (k NewKey) issue() (service.IssueKey, error) {
	r := service.IssueKey{Name: k.Name, Workflows: k.Workflows, Namespaces: k.Namespaces, Addresses: k.Addresses, Rate: k.RateLimit}
	switch k.Environment {
	case "", "live":
		r.Environment = chargehand.Live
	case "test":
		r.Environment = chargehand.Test
	default:
		return r, installation.BadSetting("--environment: %q is not live or test", k.Environment)
	}
	if k.Preset != "" && len(k.Scopes) > 0 {
		return r, installation.BadSetting("give --preset or --scopes, not both")
	}
	if k.Preset != "" {
		scopes, ok := service.ParsePreset(k.Preset)
		if !ok {
			return r, installation.BadSetting("--preset: %q is not one of run, observe, operate, deploy, all", k.Preset)
		}
		r.Scopes = scopes.In(r.Environment)
	}
	for _, name := range k.Scopes {
		scope, ok := service.ParseScope(name)
		if !ok {
			return r, installation.BadSetting("--scopes: there is no scope %q; the scopes are %s", name, strings.Join(service.PresetAll.Names(), ", "))
		}
		r.Scopes |= scope
	}
	if k.Life > 0 {
		r.ExpiresAt = time.Now().Add(k.Life)
	}
	return r, nil
}

// presets stand from the narrowest to the widest.
var presets = []string{"run", "observe", "operate", "deploy", "all"}

// PresetOf names the preset that has exactly these scopes in live or in test; "custom": none.
func PresetOf(scopes []string) string {
	for _, name := range presets {
		preset, _ := service.ParsePreset(name)
		for _, environment := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
			if slices.Equal(slices.Sorted(slices.Values(preset.In(environment).Names())), slices.Sorted(slices.Values(scopes))) {
				return name
			}
		}
	}
	return "custom"
}

// ExchangeMasterKey exchanges the master key of an installation, beside its running servers or without one: it adds a
// new one and wraps all keys by it, or with finish removes the older ones. Errors: keyring.ErrNeeded,
// *installation.SettingError.
func ExchangeMasterKey(ctx context.Context, cfg installation.Settings, finish, dataKey bool) (keyring.Report, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return keyring.Report{}, err
	}
	rows, err := cfg.OpenInstalled(ctx)
	if err != nil {
		return keyring.Report{}, err
	}
	defer rows.Close()
	if err := rows.View(ctx, installation.CheckMoved); err != nil {
		return keyring.Report{}, err
	}
	ctx = audit.FromCommand(ctx, "secrets rotate-master-key")
	x := keyring.Exchange{
		Store: rows, File: cfg.MasterKeyFile, Folder: cfg.DatabaseFolder(), Now: time.Now,
		Record: func(tx *store.Tx, report keyring.Report) error { return recordExchange(ctx, tx, report) },
	}
	if finish {
		return x.Finish(ctx)
	}
	return x.Rotate(ctx, dataKey)
}

// recordExchange writes to the audit log of each account that the master key was exchanged.
func recordExchange(ctx context.Context, tx *store.Tx, report keyring.Report) error {
	accounts, err := tx.Accounts()
	changes := audit.Changes{}
	if report.Wrapped > 0 {
		changes.Set("current", nil, report.Current)
	}
	if report.DataKey > 0 {
		changes.Set("data_key", nil, report.DataKey)
	}
	changes.Set("removed", report.Removed, nil)
	for _, account := range accounts {
		err = errors.Join(err, audit.Write(ctx, tx, time.Now(), audit.Entry{
			Account: account.No, Action: audit.MasterKeyExchanged, Target: audit.Target{Kind: "master_key", ID: report.Current, Name: report.Current}, Changes: changes,
		}))
	}
	return err
}
