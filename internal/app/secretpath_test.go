package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/installation"
)

// A step runs as the user of the server. It must not read the files with keys that the server
// reads, although they are in a folder that is open to steps, as all of /etc and PATH is.
func TestStepsCannotReadTheKeysOfTheServer(t *testing.T) {
	open := filepath.Join(t.TempDir(), "bin")
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(open, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("PATH", open+":"+os.Getenv("PATH"))
	t.Setenv("PGPASSFILE", write("pgpass", "secret of PostgreSQL"))
	public := write("public", "this is public")
	config := write("config.yaml", "temporal-api-key: secret")
	link := filepath.Join(open, "master.link")
	if err := os.Symlink(filepath.Join(open, "keys", "master.key"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(open, "keys"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(open, "contents")
	i := install(t, t.TempDir(), func(c *Config) {
		c.AllowRun, c.MasterKeyFile, c.ConfigFile, c.FilesURL = []string{"shell", "python"}, filepath.Join(open, "keys", "master.key"), config, "file://"+files
		c.Temporal.TLSKeyPath = write("temporal.key", "secret of Temporal")
	})
	confiner, err := process.New(process.Config{Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if confiner.Landlock() == 0 {
		peer.Skip(t, "this kernel has no Landlock")
	}
	_, uploaded := i.Ask("POST", "/files?filename=a.txt", "text/plain", "content of another account")
	if uploaded["id"] == nil {
		t.Fatalf("upload: %v", uploaded)
	}
	shell := i.Apply(apptest.Definition("nosy", `
      run:
        shell:
          command: cat "$1/public" "$1"/keys/master.key "$1/master.link" "$1/config.yaml" "$1/temporal.key" "$1/pgpass"; find "$1" -type f -exec cat {} +
          arguments: [`+open+`]
        return: all`))
	python := i.Apply(apptest.Definition("nosier", `
      run:
        script:
          language: python
          code: |
            import os, sys
            for folder, _, names in os.walk(sys.argv[1]):
                print(names)
            for name in ["public", "keys/master.key", "master.link", "config.yaml", "temporal.key", "pgpass"]:
                try:
                    print(open(os.path.join(sys.argv[1], name), "rb").read())
                except OSError as e:
                    print(e.errno)
          arguments: [`+open+`]
        return: all`))
	master, err := os.ReadFile(link)
	if err != nil || len(master) == 0 {
		t.Fatalf("the master key: %v", err)
	}
	for _, id := range []string{shell, python} {
		_, e := i.Ask("POST", "/workflows/"+id+"/executions?wait=20s", "application/json", "{}")
		out, _ := e["output"].(map[string]any)
		text, _ := out["stdout"].(string)
		if !strings.Contains(text, "this is public") {
			t.Fatalf("the step does not even read %s: %v", public, e)
		}
		if strings.Contains(text, "secret") || strings.Contains(text, "content of another") || strings.Contains(text, string(master)) {
			t.Errorf("the step read: %q", text)
		}
		if id == python && strings.Count(text, "\n13") < 5 {
			t.Errorf("the step was not refused 5 files: %q", text)
		}
	}
}

func TestSecretPathsAreThoseOfAllSettings(t *testing.T) {
	c := Config{ConfigFile: "/etc/c.yaml", Settings: installation.Settings{
		DataDir: "/var/data", MasterKeyFile: "key", FilesURL: "file:///srv/files",
		DatabaseURL: "postgres://h/d?sslkey=/etc/pg.key&passfile=/etc/pg.pass&sslrootcert=/etc/ca.pem",
	}}
	c.Temporal.TLSKeyPath, c.Temporal.TLSCertPath = "/etc/t.key", "/etc/t.pem"
	paths, err := c.secretPaths(func(name string) string { return map[string]string{"DOCKER_CERT_PATH": "/etc/docker-client"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	key, err := filepath.Abs("key")
	if err != nil {
		t.Fatal(err)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == ownFolder })
	slices.Sort(paths)
	want := []string{"/etc/c.yaml", "/etc/docker-client", "/etc/pg.key", "/etc/pg.pass", "/etc/t.key", key, "/srv/files", "/var/data"}
	slices.Sort(want)
	if !slices.Equal(paths, want) {
		t.Errorf("hidden %v, want %v", paths, want)
	}
}
