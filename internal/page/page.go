package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"slices"
)

// Policy is the Content-Security-Policy of every page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// Style and Script are what pages load. Their addresses change with them.
var (
	Style = slices.Concat(tokens, style, taskStyle, manualStyle)
	//go:embed page.js
	Script []byte
	// tokens are the colours and fonts, which the web UI shares.
	//
	//go:embed tokens.css
	tokens []byte
	//go:embed page.css
	style []byte
	//go:embed page.html
	layout string

	// Tag tells versions of Style and Script apart.
	Tag = tag()
)

func tag() string {
	sum := sha256.Sum256(append(bytes.Clone(Style), Script...))
	return hex.EncodeToString(sum[:8])
}

// Field is an input of a form.
type Field struct {
	Name, Type, Autocomplete, Value, Help string
	Required                              bool
	Error                                 string // what is wrong with it; empty: nothing
}

// What the button for a passkey does. page.js knows them.
const (
	PasskeySignIn     = "sign-in"
	PasskeySetup      = "setup"
	PasskeyInvitation = "invitation"
	PasskeyAdd        = "add"
	PasskeyVerify     = "verify"
)

// Provider is an identity provider that a person can sign in by.
type Provider struct{ Name, Title string }

// Content is what a page shows.
type Content struct {
	Page   string // of the constants
	Lang   string // empty: English
	Fields []Field
	Error  string // what went wrong; empty: nothing
	// Note is a line above the form, such as the name of the person that is signed in.
	Note string
	// Facts are what the person decides on.
	Facts []Fact
	// Refusable: beside the button of the form there is one that refuses. The field answer says which was pressed.
	Refusable bool
	// Passkey is what the button for a passkey does; empty: there is none. Only script shows it.
	Passkey   string
	Providers []Provider
	// Links are the providers that the person can choose to sign in by too.
	Links []Provider
	// Go is where the link of the page leads; empty: there is none.
	Go string
	// After is the page that a sign-in leads to; empty: /sign-in.
	After string
	// Verify: the buttons confirm the sign-in of the person.
	Verify bool
	// NoForm: persons do not sign in with what a form holds.
	NoForm bool
	// UI adds a way into the web UI to the page of a person who is signed in.
	UI bool
	// Forgotten adds a form for those who have forgotten the password.
	Forgotten bool
	Tag       string
}

// Allow and Refuse are the values of the field answer.
const (
	Allow  = "allow"
	Refuse = "refuse"
)

// Fact is something with a name.
type Fact struct{ Name, Value string }

// Query is that of the addresses at which a sign-in by a provider begins.
func (c Content) Query() template.URL {
	switch {
	case c.After == "/device" && c.Verify:
		return "?verify=true&page=device"
	case c.After == "/device":
		return "?page=device"
	}
	return ""
}

// Texts are those of the page.
func (c Content) Texts() texts { return pages[c.Lang][c.Page] }

// Word is a text that belongs to no page; empty if there is none of that name.
func (c Content) Word(name string) string { return words[c.Lang][name] }

var drawn = template.Must(template.New("page").Parse(layout))

// Draw is the HTML of a page.
func Draw(c Content) ([]byte, error) {
	c.Tag = Tag
	if c.Lang == "" {
		c.Lang = English
	}
	var out bytes.Buffer
	if err := drawn.Execute(&out, c); err != nil {
		return nil, fmt.Errorf("draw the page %s: %w", c.Page, err)
	}
	return out.Bytes(), nil
}
