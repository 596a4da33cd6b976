package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Bounds of secrets.
const (
	maxSecrets         = 1_000    // of an environment
	maxSecretNameBytes = 200      // of a name
	maxSecretBytes     = 64 << 10 // of a value as JSON
	maxSecretTexts     = 200      // in a value; each is looked for in what executions show
	maxSecretUsers     = 100      // that are shown of one
)

// Secret is what may be shown of a secret: never its value, nor anything that follows from it.
// (API keys are made in secret.go; this file keeps what workflows use.)
type Secret struct {
	Name      string
	Version   int64 // counts from 1, also across a deletion
	CreatedAt time.Time
	UpdatedAt time.Time    // when this version was set
	Limits    store.Limits // the workflows that may declare it
	Versions  []SecretVersion
	UsedBy    []SecretUser // at most maxSecretUsers
}

// SecretVersion is a version of a secret that is kept, without its value.
type SecretVersion struct {
	Version  int64
	SetAt    time.Time
	Restores int64 // the version whose value it has again; 0: none
}

// SecretUser is a workflow whose definition declares a secret.
type SecretUser struct {
	ID        chargehand.WorkflowID
	Namespace string
	Name      string
}

// PutSecret sets the value of a secret in the principal's environment: the first version of a new
// one, or the next version, also if the value is the same. Executions that have started keep the
// version that they started with. Body: value (required), any JSON value but null; workflows and namespaces, the
// only ones that may declare it: those that are left out stay as they were, null is no list.
// Codes: invalid_parameter (the name), invalid_body, unknown_field, workflow_not_found, state_conflict (too many).
func (s *Service) PutSecret(ctx context.Context, p *Principal, name string, body value.Value) (put *Secret, created bool, err error) {
	if complaint := badSecretName(name); complaint != "" {
		return nil, false, chargehand.NewError(chargehand.CodeInvalidParameter, "The name of a secret "+complaint,
			chargehand.FieldError{Parameter: "name", Code: string(chargehand.CodeInvalidParameter), Detail: "The name " + complaint})
	}
	value, limits, err := secretValue(body)
	if err != nil {
		return nil, false, err
	}
	row := store.Secret{Account: p.AccountNo, Environment: p.Environment, Name: name}
	err = s.update(ctx, func(tx *store.Tx) error {
		// Who sets secrets of an account does so alone: numbers of versions and of secrets are counted.
		if err := tx.LockAccount(p.AccountNo); err != nil {
			return err
		}
		last, err := tx.LastSecret(p.AccountNo, p.Environment, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if created = last.Sealed == nil; created {
			if err := roomForSecret(tx, p); err != nil {
				return err
			}
		}
		if created {
			last.Limits = store.Limits{} // of one that was deleted
		}
		if row.Limits, err = limits.on(&tx.Reader, p.AccountNo, last.Limits); err != nil {
			return err
		}
		row.Version = last.Version + 1
		row.UpdatedMs = max(s.nowMs(), last.UpdatedMs)
		row.CreatedMs = row.UpdatedMs
		row.Sealed = s.sealer.Seal(locationOf(&row), value)
		if err := tx.PutSecret(&row); err != nil {
			return err
		}
		changes := limitChanges(changed("version", last.Version, row.Version), last.Limits, row.Limits)
		return s.audit(ctx, tx, p, audit.SecretSet, secretTarget(name), changes)
	})
	if err != nil {
		return nil, false, err
	}
	return shownSecret(&row), created, nil
}

// roomForSecret refuses a secret more than there may be. Codes: state_conflict.
func roomForSecret(tx *store.Tx, p *Principal) error {
	n, err := tx.CountSecrets(p.AccountNo, p.Environment)
	if err == nil && n >= maxSecrets {
		err = chargehand.NewError(chargehand.CodeStateConflict,
			fmt.Sprintf("The environment %s has %d secrets, the maximum. Delete one that is not needed.", p.Environment, n))
	}
	return err
}

func locationOf(row *store.Secret) secret.Location {
	return secret.Location{Account: row.Account, Environment: uint8(row.Environment), Name: row.Name, Version: row.Version}
}

// badSecretName says what is wrong with a name. A definition may list any text that is not blank; a
// name that no URL can hold is refused here.
func badSecretName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "must not be empty."
	case len(name) > maxSecretNameBytes:
		return fmt.Sprintf("must not be longer than %d bytes.", maxSecretNameBytes)
	case !utf8.ValidString(name):
		return "must be valid UTF-8."
	case name == "." || name == "..":
		return "must not be a dot or two: addresses cannot hold them."
	case strings.ContainsFunc(name, unicode.IsControl):
		return "must not hold control characters."
	}
	return ""
}

// secretValue reads the body of PutSecret. Its errors never tell the value.
// Codes: invalid_body, unknown_field.
func secretValue(body value.Value) ([]byte, limitation, error) {
	f, err := openBody(body, "value", "workflows", "namespaces")
	if err != nil {
		return nil, limitation{}, err
	}
	limits := f.limitation()
	v, ok := f.values["value"]
	if !ok {
		f.fail("value", "required", `The field "value" is missing.`)
		return nil, limits, f.err()
	}
	text := value.Marshal(v)
	switch {
	case v == nil:
		f.fail("value", "wrong_type", `The field "value" must not be null. To remove a secret, delete it.`)
	case len(text) > maxSecretBytes:
		f.fail("value", "too_long", fmt.Sprintf(`The field "value" has %d bytes as JSON; at most %d are allowed.`, len(text), maxSecretBytes))
	default:
		if n := len(secret.Texts(v)); n > maxSecretTexts {
			f.fail("value", "too_long", fmt.Sprintf(`The field "value" holds %d texts; at most %d are allowed.`, n, maxSecretTexts))
		}
	}
	return text, limits, f.err()
}

// ListSecrets lists the secrets of the principal's environment. limit is 1 to 100.
func (s *Service) ListSecrets(ctx context.Context, p *Principal, limit int, after Cursor) (*Page[Secret], error) {
	return readPage(ctx, s, limit, func(r *store.Reader, most int) ([]store.Secret, error) {
		return r.ListSecrets(p.AccountNo, p.Environment, after.Milli, most)
	}, func(last *store.Secret) Cursor { return Cursor{Milli: last.No} },
		each(func(_ *store.Reader, row *store.Secret) (Secret, error) { return *shownSecret(row), nil }))
}

// GetSecret describes one secret, with its versions and the workflows that use it. Codes: secret_not_found.
func (s *Service) GetSecret(ctx context.Context, p *Principal, name string) (found *Secret, err error) {
	if badSecretName(name) != "" {
		return nil, secretNotFound(name)
	}
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := r.LastSecret(p.AccountNo, p.Environment, name)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Sealed == nil {
			return secretNotFound(name)
		}
		if err != nil {
			return err
		}
		found = shownSecret(&row)
		return describeSecret(r, &row, found)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// describeSecret adds what is in other rows: earlier versions and users.
func describeSecret(r *store.Reader, row *store.Secret, found *Secret) error {
	versions, err := r.SecretVersions(row.No)
	if err != nil {
		return err
	}
	found.Versions = []SecretVersion{{Version: row.Version, SetAt: atMs(row.UpdatedMs), Restores: row.Restores}}
	for _, v := range versions {
		found.Versions = append(found.Versions, SecretVersion{Version: v.Version, SetAt: atMs(v.SetMs), Restores: v.Restores})
	}
	users, err := r.SecretUsers(row.Account, row.Environment, row.Name, maxSecretUsers)
	for _, w := range users {
		found.UsedBy = append(found.UsedBy, SecretUser{ID: w.ID, Namespace: w.Namespace, Name: w.Name})
	}
	return err
}

// RollBackSecret sets the value of an earlier version again, as a new version. If the newest one has that value
// because it is that version or restores it, nothing changes, so the request may be repeated. Body: version.
// Codes: secret_not_found, version_not_found (it is not kept, or never was), invalid_body, unknown_field.
func (s *Service) RollBackSecret(ctx context.Context, p *Principal, name string, body value.Value) (found *Secret, err error) {
	if badSecretName(name) != "" {
		return nil, secretNotFound(name)
	}
	f, err := openBody(body, "version")
	if err != nil {
		return nil, err
	}
	if !f.has("version") {
		f.fail("version", "required", `The field "version" is missing: the number of the version whose value counts again.`)
	}
	number := f.positive("version", 0)
	if err := f.err(); err != nil {
		return nil, err
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		if err := tx.LockAccount(p.AccountNo); err != nil {
			return err
		}
		row, err := tx.LastSecret(p.AccountNo, p.Environment, name)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Sealed == nil {
			return secretNotFound(name)
		}
		if err == nil && row.Version != number && row.Restores != number {
			if err = s.restoreSecret(tx, &row, number); err == nil {
				err = s.audit(ctx, tx, p, audit.SecretRolledBack, secretTarget(name),
					changed("version", row.Version-1, row.Version).Set("restores", nil, number))
			}
		}
		if err != nil {
			return err
		}
		found = shownSecret(&row)
		return describeSecret(&tx.Reader, &row, found)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// restoreSecret sets the value of an earlier version again. Codes: version_not_found.
func (s *Service) restoreSecret(tx *store.Tx, row *store.Secret, number int64) error {
	versions, err := tx.SecretVersions(row.No)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(versions, func(v store.SecretVersion) bool { return v.Version == number })
	if i < 0 {
		return chargehand.NewError(chargehand.CodeVersionNotFound, fmt.Sprintf("The secret %s has no version %d any more, or never had it: "+
			"the newest %d are kept. Its versions are in GET /secrets/{name}.", excerpt.Quote(row.Name), number, store.KeptVersions))
	}
	location := locationOf(row)
	location.Version = number
	value, err := s.sealer.Open(location, versions[i].Sealed)
	if err != nil {
		return fmt.Errorf("open version %d of secret %q: %w", number, row.Name, err)
	}
	row.Version, row.Restores = row.Version+1, number
	row.UpdatedMs = max(s.nowMs(), row.UpdatedMs)
	row.Sealed = s.sealer.Seal(locationOf(row), value)
	return tx.PutSecret(row)
}

// DeleteSecret forgets a secret. Executions that have started keep what they started with.
// Codes: secret_not_found.
func (s *Service) DeleteSecret(ctx context.Context, p *Principal, name string) error {
	if badSecretName(name) != "" {
		return secretNotFound(name)
	}
	return s.update(ctx, func(tx *store.Tx) error {
		if err := tx.LockAccount(p.AccountNo); err != nil {
			return err
		}
		last, err := tx.LastSecret(p.AccountNo, p.Environment, name)
		if err == nil {
			err = tx.DeleteSecret(p.AccountNo, p.Environment, name, s.nowMs())
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			err = secretNotFound(name)
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.SecretDeleted, secretTarget(name), changed("version", last.Version, nil))
	})
}

func secretNotFound(name string) error {
	return chargehand.NewError(chargehand.CodeSecretNotFound, "There is no secret "+excerpt.Quote(name)+" in this environment.")
}

func shownSecret(row *store.Secret) *Secret {
	return &Secret{Name: row.Name, Version: row.Version, CreatedAt: atMs(row.CreatedMs), UpdatedAt: atMs(row.UpdatedMs), Limits: row.Limits}
}
