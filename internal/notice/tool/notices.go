package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/notice"
)

// platforms are those that releases are built for: what is linked differs a little.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64"}

// licenceFile are the names of files that hold licences and what these ask to be passed on.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice)([-._].*)?$`)

// source are endings of files that only look like licences.
var source = regexp.MustCompile(`(?i)\.(go|s|py|sh|js|tmpl|json)$`)

// bare are the modules without a text of their licence that are contained all the same, each for its reason.
var bare = map[string]bool{
	// Options of messages, generated code alone. Its repository has no licence either; its authors link it into
	// go.temporal.io/api, which is under the MIT licence.
	"github.com/nexus-rpc/nexus-proto-annotations": true,
}

// module is a module that is linked in.
type module struct {
	path, version, dir string
	packages           map[string]bool // their folders
	licence            string          // as SPDX names it
	texts              []licenceText
}

type licenceText struct{ name, text string }

// notices lists the modules that a command links, and the texts of their licences; equal texts once.
func notices(command string) ([]byte, error) {
	modules := map[string]*module{}
	for _, platform := range platforms {
		if err := linked(command, platform, modules); err != nil {
			return nil, err
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	std := &module{path: "std", dir: strings.TrimSpace(string(root)), packages: map[string]bool{}}
	all := []*module{std}
	for _, m := range modules {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *module) int { return strings.Compare(a.path, b.path) })
	for _, m := range all {
		if err := m.read(); err != nil {
			return nil, err
		}
	}
	return render(all), nil
}

// linked adds the modules that a command links on a platform.
func linked(command, platform string, modules map[string]*module) error {
	system, machine, _ := strings.Cut(platform, "/")
	list := exec.Command("go", "list", "-deps", "-json=Dir,ImportPath,Module", command)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w", platform, err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath string
			Module          *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if p.Module == nil {
			continue
		}
		if p.Module.Main {
			if p.Dir == p.Module.Dir {
				continue // the licence there is our own
			}
			if err := addData(p.Dir, p.ImportPath, modules); err != nil {
				return err
			}
			continue
		}
		m := modules[p.Module.Path]
		if m == nil {
			m = &module{path: p.Module.Path, version: p.Module.Version, dir: p.Module.Dir, packages: map[string]bool{}}
			modules[m.path] = m
		}
		m.packages[p.Dir] = true
	}
}

// addData adds a package of ours that embeds what others made: beside it is a file with its licence.
func addData(dir, path string, modules map[string]*module) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return licenceFile.MatchString(e.Name()) && !source.MatchString(e.Name()) }) {
		modules[path] = &module{path: path, dir: dir, packages: map[string]bool{dir: true}}
	}
	return nil
}

// read reads the licences in the folders of a module's packages and above them.
func (m *module) read() error {
	folders := map[string]bool{m.dir: true}
	for folder := range m.packages {
		for ; len(folder) > len(m.dir); folder = filepath.Dir(folder) {
			folders[folder] = true
		}
	}
	var sorted []string
	for folder := range folders {
		sorted = append(sorted, folder)
	}
	slices.Sort(sorted)
	var names []string
	for _, folder := range sorted {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		for _, entry := range entries {
			if entry.IsDir() || !licenceFile.MatchString(entry.Name()) || source.MatchString(entry.Name()) {
				continue
			}
			path := filepath.Join(folder, entry.Name())
			text, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
			name, err := filepath.Rel(m.dir, path)
			if err != nil {
				return err
			}
			one := licenceText{filepath.ToSlash(name), tidy(string(text))}
			m.texts = append(m.texts, one)
			if spdx := classify(one.text); spdx != "" && !slices.Contains(names, spdx) {
				names = append(names, spdx)
			}
		}
	}
	slices.Sort(names)
	switch {
	case len(m.texts) == 0 && !bare[m.path]:
		return fmt.Errorf("%s %s holds no text of its licence: the program may not contain it, unless its authors say elsewhere that it may (bare)", m.path, version(m))
	case len(m.texts) == 0:
		m.licence = "NOASSERTION"
	case len(names) == 0:
		m.licence = "LicenseRef-see-text"
	default:
		m.licence = strings.Join(names, " AND ")
	}
	return nil
}

// tidy takes away what differs between copies of one text.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// classify names a licence by its words; empty: it is a notice, or not known.
func classify(text string) string {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(part string) bool { return strings.Contains(words, strings.ToLower(part)) }
	switch {
	case has("Apache License") && has("Version 2.0"):
		return "Apache-2.0"
	case has("Mozilla Public License"):
		return "MPL-2.0"
	case has("This is free and unencumbered software"):
		return "Unlicense"
	case has("Redistribution and use in source and binary forms") && (has("Neither the name") || has("may not be used to endorse") || has("nor the names of")):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("Permission is hereby granted, free of charge"):
		return "MIT"
	case has("Permission to use, copy, modify, and"):
		return "ISC"
	case has("in the public domain"):
		return "LicenseRef-public-domain"
	}
	return ""
}

func render(all []*module) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "Chargehand is distributed under the licence in its file LICENSE. It contains these modules, under their own:\n\n")
	type group struct {
		text string
		of   []string
	}
	var groups []*group
	byText := map[string]*group{}
	var without []string
	for _, m := range all {
		fmt.Fprintf(&out, "%s %s: %s\n", m.path, version(m), m.licence)
		if len(m.texts) == 0 {
			without = append(without, m.path+" "+version(m))
		}
		for _, t := range m.texts {
			g := byText[t.text]
			if g == nil {
				g = &group{text: t.text}
				byText[t.text] = g
				groups = append(groups, g)
			}
			g.of = append(g.of, m.path+" ("+t.name+")")
		}
	}
	if len(without) > 0 {
		fmt.Fprintf(&out, "\n\n----\nModules that hold no file with a licence:\n\n%s\n", strings.Join(without, "\n"))
	}
	for _, g := range groups {
		fmt.Fprintf(&out, "\n\n----\n%s\n\n%s\n", strings.Join(g.of, "\n"), g.text)
	}
	return out.Bytes()
}

func version(m *module) string {
	if m.path == "std" {
		return "(the standard library of Go)"
	}
	if m.version == "" {
		return notice.OfData
	}
	return m.version
}
