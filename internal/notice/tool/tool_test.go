package main

import (
	"bytes"
	"encoding/json"
	"os"
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
		if licences[module] != want {
			t.Errorf("%s is under %q, want %q", module, licences[module], want)
		}
	}
	if len(licences) < 100 {
		t.Errorf("%d modules only", len(licences))
	}
	_, bare, _ := strings.Cut(notice.Text(), "Modules that hold no file with a licence:")
	bare, _, _ = strings.Cut(bare, "----")
	for module, licence := range licences {
		if (licence == "NOASSERTION") != strings.Contains(bare, module+" ") {
			t.Errorf("%s: %s, and named as one without: %t", module, licence, strings.Contains(bare, module+" "))
		}
		if licence != "NOASSERTION" && !strings.Contains(notice.Text(), "\n"+module+" (") {
			t.Errorf("no text of the licence of %s", module)
		}
	}
}

// TestSBOM lists this test binary: with its licences, and the same each time.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first, err := sbom(self, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	second, err := sbom(self, "1.2.3")
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
			found[c.PURL[:strings.Index(c.PURL, "@")]] = c.Licences[0].Expression
		}
	}
	if found["pkg:golang/github.com/google/uuid"] != "BSD-3-Clause" || found["pkg:golang/std"] != "BSD-3-Clause" {
		t.Errorf("components %v", found)
	}
	if _, err := sbom("tool_test.go", "1"); err == nil {
		t.Error("a list is made of what is no binary")
	}
}
