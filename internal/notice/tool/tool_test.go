package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/notice"
)

func TestClassify(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                         "Apache-2.0",
		"Permission is hereby granted, free of\ncharge, to any person":                        "MIT",
		"Redistribution and use in source and binary forms, … Neither the name of the holder": "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without":                  "BSD-2-Clause",
		"Permission to use, copy, modify, and/or distribute this software":                    "ISC",
		"This is free and unencumbered software released into the public domain.":             "Unlicense",
		"Copyright 2020 Somebody. This product includes software developed at another place.": "",
	} {
		if got := classify(text); got != want {
			t.Errorf("%.40q is %q, want %q", text, got, want)
		}
	}
}

// TestNotices: every module has a licence or is named as one without, and equal texts stand there once.
func TestNotices(t *testing.T) {
	licences := notice.Licences()
	for module, want := range map[string]string{"std": "BSD-3-Clause", "github.com/spf13/cobra": "Apache-2.0", "github.com/google/uuid": "BSD-3-Clause"} {
		if licences[module].SPDX != want {
			t.Errorf("%s is under %q, want %q", module, licences[module].SPDX, want)
		}
	}
	if len(licences) < 100 {
		t.Errorf("%d modules only", len(licences))
	}
	_, without, _ := strings.Cut(notice.Text(nil), "Modules that hold no file with a licence:")
	without, _, _ = strings.Cut(without, "----")
	if own, found := licences["github.com/chargehand/chargehand"]; found {
		t.Errorf("our own licence is listed as that of others: %v", own)
	}
	for module, licence := range licences {
		if licence.SPDX == "NOASSERTION" && !bare[module] {
			t.Errorf("%s has no licence, and no reason why it may", module)
		}
		if (licence.SPDX == "NOASSERTION") != strings.Contains(without, module+" ") {
			t.Errorf("%s: %s, and named as one without: %t", module, licence.SPDX, strings.Contains(without, module+" "))
		}
		if licence.SPDX != "NOASSERTION" && !strings.Contains(notice.Text(nil), "\n"+module+" (") {
			t.Errorf("no text of the licence of %s", module)
		}
	}
}

// TestModuleWithoutLicence: one that nobody has looked at does not get into a release.
func TestModuleWithoutLicence(t *testing.T) {
	m := &module{path: "example.com/bare", version: "v1.0.0", dir: t.TempDir()}
	if err := m.read(); err == nil || !strings.Contains(err.Error(), "example.com/bare v1.0.0") {
		t.Errorf("it is under %q, %v", m.licence, err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "LICENSE"), []byte("Permission is hereby granted, free of charge"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.read(); err != nil || m.licence != "MIT" {
		t.Errorf("with a text it is under %q, %v", m.licence, err)
	}
	known := &module{path: "github.com/nexus-rpc/nexus-proto-annotations", version: "v0.1.0", dir: t.TempDir()}
	if err := known.read(); err != nil || known.licence != "NOASSERTION" {
		t.Errorf("a known one is under %q, %v", known.licence, err)
	}
}

// TestSBOM lists this test binary: with its licences, and the same each time.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first, err := sbom(self, "1.2.3", nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := sbom(self, "1.2.3", nil)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("the list differs from one time to the next: %v", err)
	}
	var doc document
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Metadata.Component.Version != "1.2.3" || len(doc.Metadata.Component.Hashes) != 1 {
		t.Errorf("document %+v", doc.Metadata)
	}
	found := map[string]string{}
	for _, c := range doc.Components {
		if len(c.Licences) == 1 {
			name, _, _ := strings.Cut(c.Ref, "@")
			found[name] = c.Licences[0].Expression
		}
	}
	if data := "github.com/chargehand/chargehand/internal/signin/password"; found[data] != "MIT" || !slices.Contains(doc.Dependencies[0].Uses, data) {
		t.Errorf("the list of passwords, which others made, is under %q", found[data])
	}
	if own := doc.Metadata.Component.Licences; len(own) != 1 || own[0].Expression != ownLicence {
		t.Errorf("the program is under %v", own)
	}
	if text, err := os.ReadFile("../../../LICENSE"); err != nil || classify(string(text)) != ownLicence {
		t.Errorf("the file LICENSE holds %q: %v", classify(string(text)), err)
	}
	if found["pkg:golang/github.com/google/uuid"] != "BSD-3-Clause" || found["pkg:golang/std"] != "BSD-3-Clause" {
		t.Errorf("components %v", found)
	}
	if _, err := sbom("tool_test.go", "1", nil); err == nil {
		t.Error("a list is made of what is no binary")
	}
}

// uiText are notices as web/scripts/notice.ts writes them.
const uiText = "The web UI of Chargehand holds code of these packages.\n" + dashes +
	"@codemirror/state 6.5.2: MIT\n\nMIT License\n\nCopyright (C) 2018\n" + dashes +
	"react 19.2.0: MIT\n\nCopyright A\n" + dashes + "This is more of the text: see there\n" + dashes +
	"elkjs 0.1.0+b: Apache-2.0\n\nApache License\n"

const dashes = "\n--------------------------------------------------------------------------------\n\n"

// TestUI: a program with the web UI names its packages and their licences.
func TestUI(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, err := sbom(self, "1.2.3", []byte(uiText))
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(list, &doc); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, c := range doc.Components {
		if strings.HasPrefix(c.PURL, "pkg:npm/") {
			found = append(found, c.PURL+" "+c.Name+" "+c.Licences[0].Expression)
			if !slices.Contains(doc.Dependencies[0].Uses, c.Ref) {
				t.Errorf("the program does not depend on %s", c.Ref)
			}
		}
	}
	want := []string{
		"pkg:npm/%40codemirror/state@6.5.2 @codemirror/state MIT", "pkg:npm/react@19.2.0 react MIT", "pkg:npm/elkjs@0.1.0%2Bb elkjs Apache-2.0",
	}
	if !slices.Equal(found, want) {
		t.Errorf("packages %q", found)
	}
	if _, err := sbom(self, "1.2.3", []byte("written in another way")); err == nil {
		t.Error("a list is made without the packages of a web UI")
	}
	if all := notice.Text([]byte(uiText)); !strings.HasPrefix(all, notice.Text(nil)) || !strings.HasSuffix(all, uiText) {
		t.Error("the notices lack a part")
	}
}

// TestUIFolder: the notices are those of the web UI that is built in. A release without is an error.
func TestUIFolder(t *testing.T) {
	dist := t.TempDir()
	if _, err := uiNotices(dist); err == nil {
		t.Error("a release needs no notices of its web UI")
	}
	if err := os.WriteFile(filepath.Join(dist, "NOTICE.txt"), []byte(uiText), 0o600); err != nil {
		t.Fatal(err)
	}
	if ui, err := uiNotices(dist); string(ui) != uiText || err != nil {
		t.Errorf("%q, %v", ui, err)
	}
}
