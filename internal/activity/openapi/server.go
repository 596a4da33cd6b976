package openapi

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// baseURL is the first usable server of operation, path or document, made absolute with the
// document's own address.
func (op *operation) baseURL(document string) (string, *machine.Fault) {
	servers := op.document.Servers
	if len(op.item.Servers) > 0 {
		servers = op.item.Servers
	}
	if op.details.Servers != nil && len(*op.details.Servers) > 0 {
		servers = *op.details.Servers
	}
	from, err := url.Parse(document)
	if err != nil {
		return "", configuration("the document's address cannot be read")
	}
	text := "/"
	if len(servers) > 0 {
		var fault *machine.Fault
		if text, fault = serverURL(preferred(servers, from.Scheme)); fault != nil {
			return "", fault
		}
	}
	base, err := from.Parse(text)
	if err != nil {
		return "", configuration(fmt.Sprintf("the server address %q of the document cannot be read", excerpt.Clip(text, clipBytes)))
	}
	if base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return "", configuration(fmt.Sprintf("the document's server is %q, which is not an absolute http or https address, and the document did not come from one", excerpt.Clip(text, clipBytes)))
	}
	return strings.TrimSuffix(base.Scheme+"://"+base.Host+base.EscapedPath(), "/"), nil
}

// preferred picks a server of the scheme by which the document came, so that a document
// that names http and https does not lead from https to http.
func preferred(servers openapi3.Servers, scheme string) *openapi3.Server {
	for _, s := range servers {
		if s != nil && scheme != "" && strings.HasPrefix(s.URL, scheme+"://") {
			return s
		}
	}
	return servers[0]
}

var variableInURL = regexp.MustCompile(`\{[^{}]*\}`)

// serverURL puts the defaults of the variables in. A default may be another text with braces;
// it is not looked at again.
func serverURL(s *openapi3.Server) (string, *machine.Fault) {
	if s == nil {
		return "/", nil
	}
	missing := ""
	text := variableInURL.ReplaceAllStringFunc(s.URL, func(name string) string {
		variable := s.Variables[strings.Trim(name, "{}")]
		switch {
		case variable == nil:
			missing = name
			return name
		case variable.Default == "" && len(variable.Enum) > 0:
			return variable.Enum[0]
		}
		return variable.Default
	})
	if missing != "" {
		return "", configuration(fmt.Sprintf("the server address %q of the document has no default for %s", excerpt.Clip(s.URL, clipBytes), excerpt.Clip(missing, clipBytes)))
	}
	return text, nil
}
