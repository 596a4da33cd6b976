package cli

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const environmentPrefix = "CHARGEHAND_"

// onlyArgument marks flags that only the command line sets.
const onlyArgument = "only_argument"

// commandLineOnly keeps flags from being set by the environment or the config file, where their
// names mean something else.
func commandLineOnly(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, onlyArgument, []string{}); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// fillFlags fills the flags that were not given from the environment (CHARGEHAND_DATA_DIR for
// --data-dir) and then from the config file (data-dir: …), in this order of precedence.
func fillFlags(cmd *cobra.Command) error {
	if err := checkShown(cmd); err != nil {
		return err
	}
	configFile, err := findConfig(cmd)
	if err != nil {
		return err
	}
	fromFile, err := readConfig(configFile)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		known[f.Name] = true
		if f.Changed || f.Annotations[onlyArgument] != nil || failed != nil {
			return
		}
		variable := variableOf(f.Name)
		if value, set := os.LookupEnv(variable); set {
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				_, err = badValue(err)
				failed = usage("%s: %w", variable, err)
			}
			return
		}
		for _, value := range fromFile[f.Name] {
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				_, err = badValue(err)
				failed = usage("%s: %s: %w", configFile, f.Name, err)
				return
			}
		}
	})
	if failed != nil {
		return failed
	}
	for _, name := range []string{"database-url", "files-url"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			// Most often an unset variable of a shell. With an empty value, another, empty database would be served.
			return usage("--%s is empty: leave it out to use the data directory", name)
		}
	}
	// One file can hold the settings of serve and of everything beside it.
	server := newServe(console{}).Flags()
	for name := range fromFile {
		if !known[name] && server.Lookup(name) == nil {
			return usage("%s: %q is not a setting of %s", configFile, name, cmd.CommandPath())
		}
	}
	return nil
}

// variableOf is the variable of the environment that sets a flag.
func variableOf(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// findConfig sets --config from the environment, because the file is read before the other flags are filled, and
// returns its path; empty: there is none, or the command reads none.
func findConfig(cmd *cobra.Command) (string, error) {
	f := cmd.Flags().Lookup("config")
	if f == nil {
		return "", nil
	}
	if value := os.Getenv(variableOf(f.Name)); value != "" && !f.Changed {
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			return "", usage("%s: %w", variableOf(f.Name), err)
		}
	}
	return f.Value.String(), nil
}

// checkShown refuses an argument with a password that every user of the machine could read.
func checkShown(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("smtp-url")
	if f == nil || !f.Changed {
		return nil
	}
	if u, err := url.Parse(f.Value.String()); err == nil {
		if _, has := u.User.Password(); has {
			return usage("--smtp-url: the password must not be an argument, because every user of this machine can read it: set " +
				"--smtp-password-file, or the whole address as CHARGEHAND_SMTP_URL")
		}
	}
	return nil
}

func readConfig(path string) (map[string][]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("--config: %w", unreadable(err))
	}
	var values map[string]any
	if err := yaml.Unmarshal(data, &values); err != nil {
		return nil, usage("--config: %s: %w", path, err)
	}
	settings := map[string][]string{}
	for name, value := range values {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for _, item := range list {
			settings[name] = append(settings[name], fmt.Sprint(item))
		}
	}
	return settings, nil
}
