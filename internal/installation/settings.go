package installation

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/mail/smtp"
)

// The engines.
const (
	EngineEmbedded = "embedded"
	EngineTemporal = "temporal"
)

// What is encrypted at rest.
const (
	EncryptSecrets = "secrets" // secrets, and the data of executions that have some
	EncryptAll     = "all"
	EncryptOnly    = "only" // all, and what is not encrypted is refused
)

// The parts of a data directory.
const (
	DatabaseName  = "chargehand.db"
	FilesName     = "files"
	MasterKeyName = "master.key"
)

// Settings say where the parts of an installation are; docs/reference/cli.md lists the flags. The zero value, completed
// by WithDefaults, names the default data directory.
type Settings struct {
	DataDir string // default ./chargehand-data
	// DatabaseURL names a PostgreSQL database to use instead of the one in the data directory.
	DatabaseURL string
	// FilesURL says where files are: s3://bucket?… or file:///path; default: in the data directory.
	FilesURL      string
	MasterKeyFile string // default: master.key in the data directory
	// Encrypt says what is encrypted at rest: EncryptSecrets (default), EncryptAll or EncryptOnly.
	Encrypt string
	// Engine is EngineEmbedded (default) or EngineTemporal, which needs DatabaseURL.
	Engine   string
	Temporal Temporal
	// Mail names the mail server, and the address that mails come from; without its URL, no mail is sent.
	Mail smtp.Settings
	Log  *slog.Logger // default: nothing is logged
}

// Temporal says how the Temporal engine reaches its cluster, and what its task queues are
// called.
type Temporal struct {
	temporal.Dial
	Queue string // default "chargehand"
}

// WithDefaults completes the settings and checks them, without looking anywhere. Errors: *SettingError.
func (s Settings) WithDefaults() (Settings, error) {
	s.DataDir = cmp.Or(s.DataDir, "chargehand-data")
	s.MasterKeyFile = cmp.Or(s.MasterKeyFile, filepath.Join(s.DataDir, MasterKeyName))
	s.Encrypt = cmp.Or(s.Encrypt, EncryptSecrets)
	s.Engine = cmp.Or(s.Engine, EngineEmbedded)
	s.Temporal.Queue = cmp.Or(s.Temporal.Queue, "chargehand")
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Encrypt != EncryptSecrets && s.Encrypt != EncryptAll && s.Encrypt != EncryptOnly {
		return s, BadSetting("--encrypt: %.80q is not secrets, all or only", s.Encrypt)
	}
	if err := s.checkEngine(); err != nil {
		return s, err
	}
	_, err := s.Location()
	return s, err
}

// MailServer is the mail server of the settings; nil: there is none. Errors: *SettingError.
func (s Settings) MailServer() (*smtp.Server, error) {
	if s.Mail.URL == "" {
		if s.Mail.From != "" || s.Mail.PasswordFile != "" {
			return nil, BadSetting("--mail-from and --smtp-password-file need --smtp-url, the mail server")
		}
		return nil, nil
	}
	server, err := smtp.Open(s.Mail)
	if err != nil {
		return nil, BadSetting("%w", err)
	}
	return server, nil
}

// queueName is what the names of task queues may begin with: Temporal bounds them, and adds to
// them.
var queueName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

func (s Settings) checkEngine() error {
	switch {
	case s.Engine != EngineEmbedded && s.Engine != EngineTemporal:
		return BadSetting("--engine: %q is not embedded or temporal", s.Engine)
	case s.Engine == EngineTemporal && s.DatabaseURL == "":
		return BadSetting("--engine temporal needs --database-url: several machines work on one PostgreSQL database")
	case s.Engine == EngineTemporal && !IsAddress(s.Temporal.Address):
		return BadSetting("--temporal-address: %q is not host:port, such as temporal.example.com:7233", s.Temporal.Address)
	case s.Engine == EngineTemporal && !queueName.MatchString(s.Temporal.Queue):
		return BadSetting("--temporal-task-queue: %.80q is not a name of 1 to 100 letters, digits, '.', '_' and '-'", s.Temporal.Queue)
	}
	return nil
}

// IsAddress reports whether text says where Temporal is: host:port, a target of gRPC
// (dns:///host:port), or nothing for the default. Anything else would be waited for without end.
func IsAddress(text string) bool {
	if text == "" || strings.Contains(text, ":///") {
		return true
	}
	host, port, err := net.SplitHostPort(text)
	n, wrong := strconv.Atoi(port)
	return err == nil && host != "" && wrong == nil && n > 0 && n < 1<<16
}

// SettingError is a mistake in a setting, as against a failure to do what it asks for. The
// command line answers it as wrong usage.
type SettingError struct{ err error }

func (e *SettingError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong.
func (e *SettingError) Unwrap() error { return e.err }

// BadSetting makes a SettingError. The format begins with the flag.
func BadSetting(format string, args ...any) error {
	return &SettingError{fmt.Errorf(format, args...)}
}
