package chargehand_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const module = "github.com/chargehand/chargehand"

type room struct {
	Files []string `yaml:"files"`
	Allow []string `yaml:"allow"`
	Deny  []struct {
		Package string `yaml:"pkg"`
		Reason  string `yaml:"desc"`
	} `yaml:"deny"`
}

// TestEveryPackageHasARoom holds the import rules of the linter against the packages: each belongs to one room,
// and a room is closed to all packages of ours but those that it names.
func TestEveryPackageHasARoom(t *testing.T) {
	text, err := os.ReadFile(".golangci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]room `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	rooms := map[string]room{}
	for name, r := range config.Linters.Settings.Depguard.Rules {
		if len(r.Deny) != 1 || r.Deny[0].Package != module {
			continue // about the world outside
		}
		rooms[name] = r
		if r.Deny[0].Reason == "" {
			t.Errorf("the room %s gives no reason", name)
		}
		for _, allowed := range r.Allow {
			if !strings.HasPrefix(allowed, module) || !strings.HasSuffix(allowed, "$") {
				t.Errorf("the room %s allows %s: name one package of ours, with $ at its end", name, allowed)
			}
		}
	}
	wiring := map[string]bool{"internal/app": true}
	for _, folder := range packages(t) {
		var of []string
		for name, r := range rooms {
			if r.holds(folder + "/x.go") {
				of = append(of, name)
			}
		}
		switch {
		case wiring[folder] && len(of) != 0:
			t.Errorf("%s wires all packages and is in the rules %v", folder, of)
		case !wiring[folder] && len(of) != 1:
			t.Errorf("%s is in the rules %v of .golangci.yaml, want one: give it the packages that it may import", folder, of)
		}
	}
	if len(rooms) < 20 {
		t.Errorf("only %d rooms were found", len(rooms))
	}
}

// packages lists the folders under internal that have Go files of this module which are not tests.
func packages(t *testing.T) (folders []string) {
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
			return filepath.SkipDir
		}
		files, err := filepath.Glob(path + "/*.go")
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				folders = append(folders, filepath.ToSlash(path))
				break
			}
		}
		return err
	})
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d packages, %v", len(folders), err)
	}
	return folders
}

func (r room) holds(path string) bool {
	for _, pattern := range r.Files {
		expression := regexp.QuoteMeta(strings.TrimPrefix(pattern, "**/"))
		expression = strings.ReplaceAll(expression, `\*\*`, ".*")
		expression = strings.ReplaceAll(expression, `\*`, "[^/]*")
		if ok, _ := regexp.MatchString("^"+expression+"$", path); ok {
			return true
		}
	}
	return false
}
