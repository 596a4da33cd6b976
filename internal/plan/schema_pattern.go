package plan

import (
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pattern is a regular expression that is compiled when it is first needed. Whether a text is one is known before.
type pattern struct {
	text     string
	compiled func() *regexp.Regexp
}

func readPattern(text string) (jsonschema.Regexp, error) {
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return nil, err
	}
	return &pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}, nil
}

// String implements jsonschema.Regexp.
func (p *pattern) String() string { return p.text }

// MatchString implements jsonschema.Regexp.
func (p *pattern) MatchString(text string) bool { return p.compiled().MatchString(text) }
