package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Bounds of what one execution may see.
const (
	maxSecretBytes = 1 << 20 // of all values, as JSON
	maxSecretTexts = 2_000   // that are looked for in what is shown
)

// CodeSecretsTooLarge: the secrets that a definition declares are too large together.
const CodeSecretsTooLarge = "secrets_too_large"

// Errors of reading secrets. SecretsError says what they mean for the execution.
var (
	ErrSecretsTooLarge = errors.New("the secrets of an execution are too large")
	ErrNoSealer        = errors.New("this server has no key for secrets")
)

// Kind names what is sealed, so that no sealed data opens in the place of another.
type Kind string

// The kinds.
const (
	SealedSecrets    Kind = "secrets"    // the pinned values
	SealedEvent      Kind = "event"      // of the journal
	SealedCheckpoint Kind = "checkpoint" // a state of the machine
	SealedTimeline   Kind = "timeline"   // a chunk of the timeline of an execution that runs
	SealedPayload    Kind = "payload"    // what Temporal carries
)

// Secrets are the secrets of one execution (T10), and everything that follows from having
// some: sealing what is stored, and taking them out of what is shown. nil stands for an
// execution whose plan declares none: every method then does nothing, at no cost. Whether something stored is sealed
// follows from the plan alone. DESIGN.md tells who calls what, and when.
//
// All methods are safe for concurrent use. Secrets print as "[redacted]".
type Secrets struct {
	sealer   *secret.Sealer
	box      *secret.Box
	values   map[string]value.Value
	packed   []byte // what Pin writes, not yet sealed
	redactor func() *secret.Redactor
	errors   func() *secret.Redactor // of the details of faults
}

func (s *Secrets) String() string   { return "[redacted]" }
func (s *Secrets) GoString() string { return "[redacted]" }

// ReadSecrets reads the secrets of an execution: those that were pinned, or else the newest
// versions of those that the plan declares and its environment has; the others are absent (T75: the
// machine faults). Of row it uses No, ID, Account, Environment and Revision; No is 0 where the row is not written yet.
// It is nil, without a query to the database, where the plan declares none.
// Errors: ErrSecretsTooLarge, ErrNoSealer; secret.ErrSealed (another master key, or damage); those of the store.
func ReadSecrets(r *store.Reader, row *store.Execution, p *plan.Plan, sealer *secret.Sealer) (*Secrets, error) {
	if !p.UsesSecrets() {
		return nil, nil
	}
	if sealer == nil {
		return nil, ErrNoSealer
	}
	if row.No != 0 {
		s, err := PinnedSecrets(r, row, p, sealer)
		if !errors.Is(err, store.ErrNotFound) {
			return s, err
		}
	}
	s := &Secrets{sealer: sealer, box: sealer.Execution(row.ID)}
	return s, s.current(r, row, p.Secrets(), sealer)
}

// PinnedSecrets reads the secrets that were pinned when the execution began, and never newer versions. Of row it uses
// No and ID. Errors: those of ReadSecrets, and store.ErrNotFound if no secrets are pinned because the execution has
// ended.
func PinnedSecrets(r *store.Reader, row *store.Execution, p *plan.Plan, sealer *secret.Sealer) (*Secrets, error) {
	if !p.UsesSecrets() {
		return nil, nil
	}
	if sealer == nil {
		return nil, ErrNoSealer
	}
	sealed, err := r.PinnedSecrets(row.No)
	if err != nil {
		return nil, err
	}
	s := &Secrets{sealer: sealer, box: sealer.Execution(row.ID)}
	return s, s.unpack(sealed)
}

// PinnedRedactor takes the secrets out of texts that were pinned when an execution began. It is nil if there are none.
// Errors: those of PinnedSecrets.
func PinnedRedactor(r *store.Reader, no int64, id chargehand.ExecutionID, sealer *secret.Sealer) (*secret.Redactor, error) {
	if sealer == nil {
		return nil, ErrNoSealer
	}
	sealed, err := r.PinnedSecrets(no)
	if err != nil {
		return nil, err
	}
	s := &Secrets{sealer: sealer, box: sealer.Execution(id)}
	if err := s.unpack(sealed); err != nil {
		return nil, err
	}
	return s.Redactor(), nil
}

// SealingOf opens and seals what belongs to an execution without knowing its secrets: for
// readers of the timeline of one that has ended. Nothing is redacted. It is nil where the plan declares none.
func SealingOf(id chargehand.ExecutionID, p *plan.Plan, sealer *secret.Sealer) *Secrets {
	if !p.UsesSecrets() {
		return nil
	}
	none := func() *secret.Redactor { return nil }
	s := &Secrets{redactor: none, errors: none}
	if sealer != nil {
		s.box = sealer.Execution(id)
	}
	return s
}

// KnownSecrets are the secrets of an execution whose values (Values) the caller was given: for a
// workflow of Temporal, which redacts, and neither seals nor opens by itself. It is nil without any.
func KnownSecrets(values map[string]value.Value) *Secrets {
	if values == nil {
		return nil
	}
	list := make([]value.Value, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, values[name])
	}
	return &Secrets{
		values:   values,
		redactor: sync.OnceValue(func() *secret.Redactor { return secret.NewRedactor(list...) }),
		errors:   sync.OnceValue(func() *secret.Redactor { return secret.NewErrorRedactor(list...) }),
	}
}

// PinSecrets is ReadSecrets and Pin in one transaction, in which row was written.
func PinSecrets(tx *store.Tx, row *store.Execution, p *plan.Plan, sealer *secret.Sealer) (*Secrets, error) {
	s, err := ReadSecrets(&tx.Reader, row, p, sealer)
	if err == nil {
		err = s.Pin(tx, row.No)
	}
	return s, err
}

// Pin keeps these values for the execution until it ends, in the transaction that journals its
// first event or hands it to another process. What was pinned before stays. An execution that ends in its first
// transaction needs no pin, and must have none.
func (s *Secrets) Pin(tx *store.Tx, executionNo int64) error {
	if s == nil || s.packed == nil {
		return nil
	}
	return tx.PinSecrets(executionNo, s.box.Seal(string(SealedSecrets), s.packed))
}

// authorOf reads what the definition of a revision may do. Its plan comes from the same row (Plans), so what runs has
// one; where plans come from elsewhere, as in tests, nothing is limited.
func authorOf(r *store.Reader, revision int64) (store.Author, error) {
	author, err := r.AuthorOf(revision)
	if errors.Is(err, store.ErrNotFound) {
		return store.Author{}, nil
	}
	return author, err
}

// MayUse reports whether a definition may use a secret with these limits. One that was applied by a key with limits
// sees only secrets that are there for its workflow by name.
func MayUse(author store.Author, secret store.Limits) bool {
	if secret.All() {
		return author.Limits.All()
	}
	return secret.Admit(author.Workflow, author.Namespace)
}

// current reads the newest versions of those that the definition may use. The others are as if they were not there.
func (s *Secrets) current(r *store.Reader, row *store.Execution, names []string, sealer *secret.Sealer) error {
	rows, err := r.SecretValues(row.Account, row.Environment, names)
	if err != nil {
		return err
	}
	author, err := authorOf(r, row.Revision)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(s store.Secret) bool { return !MayUse(author, s.Limits) })
	versions := make(map[string]any, len(rows))
	s.values = make(map[string]value.Value, len(rows))
	for i := range rows {
		row := &rows[i]
		location := secret.Location{
			Account: row.Account, Environment: uint8(row.Environment), Name: row.Name, Version: row.Version,
		}
		text, err := sealer.Open(location, row.Sealed)
		if err != nil {
			return fmt.Errorf("open secret %q: %w", row.Name, err)
		}
		if s.values[row.Name], err = parseSecret(text); err != nil {
			return fmt.Errorf("open secret %q: %w", row.Name, err)
		}
		versions[row.Name] = int(row.Version)
	}
	s.packed = value.Append(nil, map[string]any{"values": s.values, "versions": versions})
	return s.ready()
}

// unpack reads what Pin has written.
func (s *Secrets) unpack(sealed []byte) error {
	packed, err := s.box.Open(string(SealedSecrets), sealed)
	if err != nil {
		return fmt.Errorf("open pinned secrets: %w", err)
	}
	v, err := parseSecret(packed)
	if err != nil {
		return fmt.Errorf("open pinned secrets: %w", err)
	}
	object, _ := v.(map[string]any)
	values, ok := object["values"].(map[string]any)
	if !ok {
		return fmt.Errorf("open pinned secrets: %w", ErrCorrupt)
	}
	s.values = values
	return s.ready()
}

func parseSecret(text []byte) (value.Value, error) {
	v, err := value.Parse(text, value.Limits{Depth: value.MaxDepth, Bytes: len(text)})
	if err != nil {
		return nil, ErrCorrupt // without the reason, which may quote the value
	}
	return v, nil
}

// ready checks the bounds and prepares the redactor, which is made when it is first needed.
func (s *Secrets) ready() error {
	texts, size := 0, 0
	values := make([]value.Value, 0, len(s.values))
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		v := s.values[name]
		values = append(values, v)
		texts += len(secret.Texts(v))
		size += len(value.Append(nil, v))
	}
	if size > maxSecretBytes || texts > maxSecretTexts {
		return ErrSecretsTooLarge
	}
	s.redactor = sync.OnceValue(func() *secret.Redactor { return secret.NewRedactor(values...) })
	s.errors = sync.OnceValue(func() *secret.Redactor { return secret.NewErrorRedactor(values...) })
	return nil
}

// SecretsError is the error of an execution whose secrets were not read because of err, or whose other data (what, such
// as "state") was not opened: *Unrecoverable, unless it may pass.
func SecretsError(what string, err error) error {
	switch {
	case errors.Is(err, ErrSecretsTooLarge):
		return &Unrecoverable{secretsFault()}
	case errors.Is(err, ErrNoSealer), errors.Is(err, secret.ErrSealed), errors.Is(err, ErrCorrupt):
		return NewUnrecoverable(CodeInternal, fmt.Sprintf("The %s of the execution cannot be opened: %v. "+
			"Either the data is damaged, or it was sealed with another master key; set the secrets again, and start the "+
			"execution again.", what, err))
	}
	return fmt.Errorf("read %s: %w", what, err)
}

func secretsFault() *machine.Fault {
	return &machine.Fault{
		Type: machine.ErrConfiguration, Status: 400, Title: "Configuration error", Code: CodeSecretsTooLarge,
		Instance: "/use/secrets", Detail: fmt.Sprintf("The secrets that the definition declares have more than %d bytes, "+
			"or more than %d texts, together; declare only those that it uses.", maxSecretBytes, maxSecretTexts),
	}
}

// Values are what the machine is given (machine.Identity.Secrets), by name; nil without
// secrets. They are shared and must not be changed.
func (s *Secrets) Values() map[string]value.Value {
	if s == nil {
		return nil
	}
	return s.values
}

// FilterSealer is what hides the filters of an execution's subscriptions (eventstream.RowFilters): the Sealer of the
// installation, if the execution has secrets or if everything is sealed.
func (s *Secrets) FilterSealer(installation *secret.Sealer) *secret.Sealer {
	switch {
	case s != nil:
		return s.sealer
	case installation.SealsAll():
		return installation
	}
	return nil
}

// Seal seals data that is stored or sent for this execution; without secrets it returns the data itself.
func (s *Secrets) Seal(kind Kind, data []byte) []byte {
	if s == nil {
		return data
	}
	return s.box.Seal(string(kind), data)
}

// Open is the inverse of Seal. Errors: secret.ErrSealed, ErrNoSealer.
func (s *Secrets) Open(kind Kind, data []byte) ([]byte, error) {
	switch {
	case s == nil:
		return data, nil
	case s.box == nil:
		return nil, ErrNoSealer
	}
	return s.box.Open(string(kind), data)
}

// Redact takes the secrets out of a value; v itself is not changed.
func (s *Secrets) Redact(v value.Value) value.Value {
	if s == nil {
		return v
	}
	return s.redactor().Value(v)
}

// Redactor takes the secrets out of texts; nil: there are none.
func (s *Secrets) Redactor() *secret.Redactor {
	if s == nil {
		return nil
	}
	return s.redactor()
}

// RedactText is Redact for a text, such as what a log says.
func (s *Secrets) RedactText(text string) string {
	if s == nil {
		return text
	}
	return s.redactor().Text(text)
}

// RedactFault is Redact for a fault. The types of the language stay, and so does the code, which
// is ours.
func (s *Secrets) RedactFault(f *machine.Fault) *machine.Fault {
	if s == nil || f == nil {
		return f
	}
	redacted, r := *f, s.redactor()
	if !strings.HasPrefix(f.Type, machine.ErrorBase) {
		redacted.Type = r.Text(f.Type)
	}
	redacted.Title, redacted.Detail, redacted.Instance = r.Text(f.Title), s.errors().Text(f.Detail), r.Text(f.Instance)
	return &redacted
}

// EncodeTimeline encodes entries of the timeline without secrets, as a chunk (machine.EncodeTimeline). Only the last
// chunk of an execution has the tally of those before it.
func (s *Secrets) EncodeTimeline(entries []machine.Entry, tally machine.Tally, known ...value.Value) []byte {
	return machine.EncodeTimeline(nil, s.RedactEntries(entries), tally, known...)
}

// RedactEntries is Redact for entries of the timeline. Names of tasks and references come from
// the definition and stay.
func (s *Secrets) RedactEntries(entries []machine.Entry) []machine.Entry {
	if s == nil || len(entries) == 0 {
		return entries
	}
	redacted, r := slices.Clone(entries), s.redactor()
	for i := range redacted {
		e := &redacted[i]
		e.Input, e.Output, e.Fault = r.Value(e.Input), r.Value(e.Output), s.RedactFault(e.Fault)
		if d := e.Data; d != nil && (r.Changes(d.Input) || r.Changes(d.Context)) {
			e.Data = &machine.TaskData{Lost: true} // without its secrets it would begin with other data
		}
		e.Outcomes = s.redactOutcomes(e.Outcomes)
		if w := e.Wait; w != nil && len(w.Types) > 0 {
			shown := *w
			shown.Types = make([]string, len(w.Types))
			for i, name := range w.Types {
				shown.Types[i] = r.Text(name)
			}
			e.Wait = &shown
		}
		e.Files = redactFiles(r, e.Files)
	}
	return redacted
}

// redactOutcomes is Redact for what came to a task from outside.
func (s *Secrets) redactOutcomes(outcomes []machine.Outcome) []machine.Outcome {
	if len(outcomes) == 0 {
		return nil
	}
	redacted, r := slices.Clone(outcomes), s.redactor()
	for i := range redacted {
		o := &redacted[i]
		o.Output, o.Fault, o.Files = r.Value(o.Output), s.RedactFault(o.Fault), redactFiles(r, o.Files)
	}
	return redacted
}

// redactFiles takes the secrets out of the names of files. The list itself is not changed.
func redactFiles(r *secret.Redactor, files []machine.File) []machine.File {
	shown := files
	for n, file := range files {
		if name := r.Text(file.Name); name != file.Name {
			if &shown[0] == &files[0] {
				shown = slices.Clone(files)
			}
			shown[n].Name = name
		}
	}
	return shown
}
