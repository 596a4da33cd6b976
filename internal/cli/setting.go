package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/installation"
)

// installationFlags adds the flags that say where an installation keeps its rows, files and master key.
func installationFlags(f *pflag.FlagSet, cfg *installation.Settings) {
	f.StringVar(&cfg.DataDir, "data-dir", "chargehand-data", "folder of the database, the files and the master key")
	f.StringVar(&cfg.DatabaseURL, "database-url", "", "PostgreSQL instead of the database in the data directory: postgres://user@host/name")
	f.StringVar(&cfg.FilesURL, "files-url", "", "where files are: s3://bucket?region=…&endpoint=…&prefix=…, or file:///path (default: in the data directory)")
	f.StringVar(&cfg.MasterKeyFile, "master-key-file", "", "master key (default: master.key in the data directory, made at first start; with --database-url it must be given)")
}

// encryptFlag says what is encrypted at rest.
func encryptFlag(f *pflag.FlagSet, cfg *installation.Settings) {
	f.StringVar(&cfg.Encrypt, "encrypt", installation.EncryptSecrets, "what is encrypted at rest: secrets; all: payloads, files, events and Temporal's histories too; only: all, and what is not encrypted is refused")
}

// workFlags say what executions may do here, and how much of it at once.
func workFlags(f *pflag.FlagSet, cfg *app.Config) {
	encryptFlag(f, &cfg.Settings)
	f.StringSliceVar(&cfg.AllowRun, "allow-run", nil, "processes that workflows may start: shell,python,container (js is always allowed)")
	f.StringArrayVar(&cfg.ContainerVolumes, "container-volume", nil, "PATH or PATH:ro, repeatable: path of the engine's machine that containers may mount")
	f.StringSliceVar(&cfg.ContainerCapabilities, "container-capability", nil, "capabilities that containers keep, such as CHOWN,SETUID,SETGID (default: none)")
	f.StringSliceVar(&cfg.AllowEgress, "allow-egress", nil, "private addresses, ranges or host names that workflows may reach")
	f.StringArrayVar(&cfg.ConnectTo, "connect-to", nil, "HOST:PORT:HOST2:PORT2 as curl, repeatable, for outgoing calls")
	f.StringArrayVar(&cfg.TrustedCA, "trusted-ca", nil, "PEM file with more certificate authorities for outgoing calls")
	f.StringVar(&cfg.ResourceRoot, "resource-root", "", "folder below which workflows may name files as external resources: relative paths and file: addresses (default: none)")
	f.StringVar(&cfg.LifecycleEvents, "lifecycle-events", "none", "events that executions publish about themselves: none, workflow, or task for those of tasks too")
	f.StringVar(&cfg.LifecyclePrefix, "lifecycle-prefix", "io.serverlessworkflow", "what the types of these events begin with")
	f.IntVar(&cfg.RunningExecutions, "max-running", 1000, "executions of an account that run at once")
	f.IntVar(&cfg.Calls, "max-calls", 256, "outgoing calls at once in this process")
	f.IntVar(&cfg.Streams, "max-streams", 1024, "subscriptions of call: asyncapi at once in this process")
	f.IntVar(&cfg.Processes, "max-processes", 8, "processes of steps at once in this process: shell, python, containers, MCP over stdio")
	f.IntVar(&cfg.Scripts, "max-scripts", 8, "scripts in JavaScript at once in this process")
	f.DurationVar(&cfg.ScriptTimeout, "script-timeout", 30*time.Second, "time of one script in JavaScript")
	quotaVar(f, &cfg.ExecutionLogBytes, "size", "execution-log-size", "16MiB", "what is kept of the log of one execution, such as 64MiB; 0: executions have no log")
}

// shareFlags bound what one workflow, key or person may have at once. Workers of Temporal, which do not see what the
// others carry out, have none of them.
func shareFlags(f *pflag.FlagSet, cfg *app.Config) {
	f.IntVar(&cfg.RunningPerWorkflow, "max-running-per-workflow", 0, "executions of one workflow that run at once in one environment (0: only --max-running)")
	f.IntVar(&cfg.CallsPerWorkflow, "max-calls-per-workflow", 0, "outgoing calls of one workflow at once in one environment (0: only --max-calls)")
	f.IntVar(&cfg.ProcessesPerWorkflow, "max-processes-per-workflow", 0, "processes of one workflow at once in one environment, and scripts likewise (0: only --max-processes and --max-scripts)")
	f.IntVar(&cfg.RunningPerKey, "max-running-per-key", 0, "executions that one key or person has started and that run at once in one environment (0: only --max-running)")
	f.IntVar(&cfg.CallsPerKey, "max-calls-per-key", 0, "outgoing calls at once of what one key or person has started in one environment (0: only --max-calls)")
	f.IntVar(&cfg.ProcessesPerKey, "max-processes-per-key", 0, "processes at once of what one key or person has started in one environment, and scripts likewise (0: only --max-processes and --max-scripts)")
}

// oidcFlags say which identity providers persons sign in by.
func oidcFlags(f *pflag.FlagSet, o *app.OIDC) {
	f.StringArrayVar(&o.Issuers, "oidc", nil, "NAME=ISSUER, repeatable: identity provider (OpenID Connect) that persons sign in by; needs --public-url")
	f.StringArrayVar(&o.Clients, "oidc-client", nil, "NAME=ID, repeatable: what the provider knows this server by")
	f.StringArrayVar(&o.Secrets, "oidc-secret", nil, "NAME=SECRET, repeatable: client secret (better in the environment, the config file or --oidc-secret-file)")
	f.StringArrayVar(&o.SecretFiles, "oidc-secret-file", nil, "NAME=PATH, repeatable: file with the client secret")
	f.StringArrayVar(&o.Titles, "oidc-title", nil, "NAME=TEXT, repeatable: what the sign-in page calls the provider (default: its name)")
	f.StringArrayVar(&o.Provision, "oidc-provision", nil, "NAME=RULE,…, repeatable: who becomes a user without an invitation: a domain of checked e-mails, or group:GROUP")
}

// mailFlags say how mails are sent.
func mailFlags(f *pflag.FlagSet, cfg *installation.Settings) {
	f.StringVar(&cfg.Mail.URL, "smtp-url", "", "mail server: smtps://user@host or smtp://user@host, with ?starttls=never or required, and &ca=FILE (default: no mail is sent)")
	f.StringVar(&cfg.Mail.PasswordFile, "smtp-password-file", "", "file with the password for the mail server")
	f.StringVar(&cfg.Mail.From, "mail-from", "", "address that mails come from, such as chargehand@example.org")
}

// temporalFlags say how to reach a Temporal cluster; they are named as those of its own
// command line.
func temporalFlags(f *pflag.FlagSet, cfg *installation.Settings) {
	t := &cfg.Temporal
	f.StringVar(&t.Address, "temporal-address", "localhost:7233", "host and port of Temporal's frontend")
	f.StringVar(&t.Namespace, "temporal-namespace", "default", "namespace of the executions")
	f.StringVar(&t.Queue, "temporal-task-queue", "chargehand", "what the names of the task queues begin with")
	f.StringVar(&t.APIKey, "temporal-api-key", "", "API key of Temporal (better set as CHARGEHAND_TEMPORAL_API_KEY); turns TLS on")
	f.BoolVar(&t.TLS, "temporal-tls", false, "encrypt the connection to Temporal")
	f.StringVar(&t.TLSCertPath, "temporal-tls-cert-path", "", "PEM file with our certificate for Temporal; turns TLS on")
	f.StringVar(&t.TLSKeyPath, "temporal-tls-key-path", "", "PEM file with the key of that certificate")
	f.StringVar(&t.TLSCAPath, "temporal-tls-ca-path", "", "PEM file with the authorities that vouch for Temporal; turns TLS on")
	f.StringVar(&t.TLSServerName, "temporal-tls-server-name", "", "name that Temporal's certificate must have; turns TLS on")
	f.BoolVar(&t.TLSDisableHostVerification, "temporal-tls-disable-host-verification", false, "do not verify the certificate of Temporal: for tests only; turns TLS on")
}

// logFlags say what is logged.
type logFlags struct{ level, format string }

func (l *logFlags) register(f *pflag.FlagSet) {
	f.StringVar(&l.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&l.format, "log-format", "text", "text or json")
}

// configFlag is the file of settings, which fillFlags reads.
func configFlag(f *pflag.FlagSet) { configVar(f, new(string)) }

// configVar is configFlag for a command that has to know where the file is.
func configVar(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "config", "", "YAML file with settings named like these flags")
}
