package app

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// ownFolder is where operators keep keys and settings (docs/how-to/allow-programs-and-addresses.md).
const ownFolder = "/etc/chargehand"

// secretVariables name files with keys, tokens or passwords for the libraries that we use.
var secretVariables = []string{
	"PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY",
	"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"DOCKER_CERT_PATH", "DOCKER_CONFIG",
	"OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
}

// secretParameters name such files in the address of a PostgreSQL database.
var secretParameters = []string{"passfile", "servicefile", "sslkey"}

// secretPaths are the files and folders that no process of a workflow may read, although it
// runs as the user of the server: all that the configuration names and that is not public.
func (c Config) secretPaths(getenv func(name string) string) ([]string, error) {
	paths := []string{c.DataDir, c.MasterKeyFile, c.ConfigFile, c.Temporal.TLSKeyPath, c.Mail.PasswordFile}
	for _, text := range c.OIDC.SecretFiles {
		_, path, _ := strings.Cut(text, "=")
		paths = append(paths, path)
	}
	files, err := c.Location()
	if err != nil {
		return nil, err
	}
	paths = append(paths, files.Folder) // empty: a bucket
	if address, err := url.Parse(c.DatabaseURL); err == nil {
		for _, name := range secretParameters {
			paths = append(paths, address.Query().Get(name))
		}
	}
	for _, name := range secretVariables {
		paths = append(paths, getenv(name))
	}
	if _, err := os.Stat(ownFolder); err == nil { // hiding it costs the others a list of /etc
		paths = append(paths, ownFolder)
	}
	var absolute []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		absolute = append(absolute, path)
	}
	return absolute, nil
}
