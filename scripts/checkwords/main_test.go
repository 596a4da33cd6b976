package main

import (
	"strings"
	"testing"
)

const testList = `
ignore vendored/** : not ours
later unfinished/** : to be done
old inbox
say outbox
name inbox(es)?
text (?i)\binbox(es)?\b
keep mail/*.go /mail/ : the inbox of a mail program
old go on
say continue
text (?i)\bgoes on\b
old Run
say State
exact Run
within store/**
`

// page is the name of a page; scripts/check-references would look for one in a literal.
const page = "a" + ".md"

func TestWhatIsFound(t *testing.T) {
	cases := []struct{ name, file, content, want string }{
		{"a name", "a/doc.go", "// Package a is.\npackage a\n\ntype OldInbox struct{}\n", "a/doc.go:4: inbox"},
		{"a local name", "a/doc.go", "// Package a is.\npackage a\n\nfunc f() { for inboxNo := range 3 { _ = inboxNo } }\n", "a/doc.go:4: inbox"},
		{"a part of another word", "a/doc.go", "// Package a is.\npackage a\n\ntype sandinboxes struct{}\n", ""},
		{"a use", "a/doc.go", "// Package a is.\npackage a\n\nvar x = other.Inbox\n", ""},
		{"a comment", "a/doc.go", "// Package a is.\npackage a\n\n// x\n// The inbox is full.\nvar x = 1\n", "a/doc.go:5: inbox"},
		{"a literal", "a/doc.go", "// Package a is.\npackage a\n\nvar x = `\n the inbox`\n", "a/doc.go:5: inbox"},
		{"a phrase over the end of a line", "a/doc.go", "// Package a goes\n// on.\npackage a\n", "a/doc.go:1: go on"},
		{"the name of a file", "a/inbox.sql", "", "a/inbox.sql:1: inbox"},
		{"prose", "a.sql", "one\nInboxes\n", "a.sql:2: inbox"},
		{"another folder", "a/doc.go", "// Package a is.\npackage a\n\ntype Run int\n", ""},
		{"its folder", "store/doc.go", "// Package store is.\npackage store\n\ntype Run int\n", "store/doc.go:4: Run"},
		{"a kept line", "mail/doc.go", "// Package mail has mail in an inbox.\npackage mail\n", ""},
		{"another line of a file with kept ones", "mail/doc.go", "// Package a has an inbox.\npackage mail\n", "mail/doc.go:1: inbox"},
		{"not ours", "vendored/a.sql", "inbox", ""},
		{"for the time being", "unfinished/a.sql", "inbox", ""},
		{"a long comment", "a/doc.go", "// Package a is.\npackage a\n\nvar x = 1 // " + strings.Repeat("x ", 60) + "\n", "a/doc.go:4: long line"},
		{"long code", "a/doc.go", "// Package a is.\npackage a\n\nvar x = \"" + strings.Repeat("x ", 60) + "\"\n", ""},
		{"long prose", page, strings.Repeat("x ", 61), page + ":1: long line"},
		{"a long row and long code", page, "| " + strings.Repeat("x ", 61) + "\n```\n" + strings.Repeat("x ", 61) + "\n```\n", ""},
		{"no doc.go", "a/a.go", "// Package a is.\npackage a\n", "a:1: no doc.go"},
		{"doc.go without a comment", "a/doc.go", "package a\n", "a:1: no doc.go"},
		{"the comment of another name", "a/doc.go", "// Package a is.\npackage a\n\n// oldName does.\nfunc newName() {}\n", "a/doc.go:4: misnamed comment"},
		{"that of a type", "a/doc.go", "// Package a is.\npackage a\n\n// The oldName does.\ntype newName int\n", "a/doc.go:4: misnamed comment"},
		{"that of another type", "a/doc.go", "// Package a is.\npackage a\n\n// One is.\ntype One int\n\n// One does.\nvar two One\n", "a/doc.go:7: misnamed comment"},
		{"a comment in lower case", "a/doc.go", "// Package a is.\npackage a\n\n// starts it.\nfunc start() {}\n", "a/doc.go:4: misnamed comment"},
		{"an exported type", "a/doc.go", "// Package a is.\npackage a\n\n// Something that is.\ntype One int\n", "a/doc.go:4: misnamed comment"},
		{"its own name", "a/doc.go", "// Package a is.\npackage a\n\n// A newName is.\ntype newName int\n\n// newName's method.\nfunc (newName) newName() {}\n", ""},
		{"a sentence", "a/doc.go", "// Package a is.\npackage a\n\n// Bounds of what it does.\nconst (\n\t// two is the most.\n\ttwo = 2\n)\n", ""},
		{"a name of the group", "a/doc.go", "// Package a is.\npackage a\n\n// one is less than two.\nconst (\n\tone = 1\n\ttwo = 2\n)\n", ""},
		{"a directive", "a/doc.go", "// Package a is.\npackage a\n\n//go:noinline\nfunc One() {}\n", ""},
		{"a sentence above a test", "a/a_test.go", "// Package a is.\npackage a\n\nvar Files int\n\n// Files are.\nfunc TestFiles() {}\n", "a:1: no doc.go"},
		{"a command", "a/a.go", "// Command a does.\npackage main\n", ""},
		{"a command without a comment", "a/a.go", "package main\n", "a:1: no package comment"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l, err := parseList(testList)
			if err != nil {
				t.Fatal(err)
			}
			check := checker{list: l}
			if err := check.file(c.file, []byte(c.content)); err != nil {
				t.Fatal(err)
			}
			check.packages()
			var got []string
			for _, f := range check.findings {
				got = append(got, f.String())
			}
			all := strings.Join(got, "\n")
			if c.want == "" && all != "" || !strings.HasPrefix(all, c.want) || len(got) > 1 {
				t.Errorf("found %q, want %q", all, c.want)
			}
		})
	}
}

func TestListsThatAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no reason":        "old a\nsay b\ntext a\nkeep x.go",
		"no reason at all": "ignore x.go",
		"no pattern":       "old a\nsay b",
		"nothing to say":   "old a\ntext a",
		"a bad pattern":    "old a\nsay b\ntext (",
		"an unknown kind":  "old a\nsay b\ntext a\nexcept x : y",
		"no word":          "text a",
	} {
		if _, err := parseList(text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAnExceptionThatExceptsNothingIsFound(t *testing.T) {
	l, err := parseList("old a\nsay b\ntext a\nkeep x.sql : a reason")
	if err != nil {
		t.Fatal(err)
	}
	check := checker{list: l}
	check.unneeded()
	if len(check.findings) != 1 || check.findings[0].line != 4 {
		t.Errorf("found %v", check.findings)
	}
}
