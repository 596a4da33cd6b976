package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand/internal/notice"
)

// The parts of a CycloneDX document that are used here (https://cyclonedx.org/docs/1.5/json/).
type (
	document struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Serial       string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version,omitempty"`
		PURL     string    `json:"purl,omitempty"`
		Hashes   []hash    `json:"hashes,omitempty"`
		Licences []licence `json:"licenses,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	dependency struct {
		Ref  string   `json:"ref"`
		Uses []string `json:"dependsOn"`
	}
)

// ownLicence is that of the file LICENSE.
const ownLicence = "Apache-2.0"

// sbom lists what a binary was built of: the modules as the binary itself says, what else of others the notices say is
// embedded, and the packages of npm by the notices of the web UI in it, if there is one. The same binary makes the same
// list.
func sbom(binary, version string, ui []byte) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	name := func(path, version string) string {
		return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	main := component{
		Type: "application", Name: "chargehand", Version: version, PURL: name(info.Main.Path, version),
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licences: []licence{{ownLicence}},
	}
	main.Ref = main.PURL
	licences := notice.Licences()
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	modules := append([]*debug.Module{{Path: "std", Version: goVersion}}, info.Deps...)
	doc := document{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1, Metadata: metadata{main},
		Serial: "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).String(), Components: []component{},
	}
	uses := dependency{Ref: main.Ref}
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: name(m.Path, m.Version)}
		c.Ref = c.PURL
		found, known := licences[m.Path]
		if !known || m.Path != "std" && found.Version != m.Version {
			return nil, fmt.Errorf("the notices do not know %s %s: run make generate", m.Path, m.Version)
		}
		if found.SPDX != "NOASSERTION" {
			c.Licences = []licence{{found.SPDX}}
		}
		doc.Components = append(doc.Components, c)
		uses.Uses = append(uses.Uses, c.Ref)
	}
	for _, name := range slices.Sorted(maps.Keys(licences)) {
		if licences[name].Version != notice.OfData {
			continue
		}
		doc.Components = append(doc.Components, component{Type: "data", Name: name, Ref: name, Licences: []licence{{licences[name].SPDX}}})
		uses.Uses = append(uses.Uses, name)
	}
	if len(ui) > 0 {
		packages, err := notice.Packages(ui)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			purl := "pkg:npm/" + strings.ReplaceAll(p.Name, "@", "%40") + "@" + strings.ReplaceAll(p.Version, "+", "%2B")
			doc.Components = append(doc.Components, component{
				Type: "library", Name: p.Name, Version: p.Version, PURL: purl, Ref: purl, Licences: []licence{{p.Licence}},
			})
			uses.Uses = append(uses.Uses, purl)
		}
	}
	doc.Dependencies = []dependency{uses}
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}
