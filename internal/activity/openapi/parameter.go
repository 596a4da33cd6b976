package openapi

import (
	"fmt"
	nethttp "net/http"
	"net/url"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// request distributes the given parameters (T43, T82).
func (op *operation) request(document string, given map[string]any) (*http.Request, *machine.Fault) {
	base, fault := op.baseURL(document)
	if fault != nil {
		return nil, fault
	}
	method, fault := http.CheckMethod(op.method)
	if fault != nil {
		return nil, fault
	}
	req := &http.Request{Method: method, Header: nethttp.Header{}, Query: url.Values{}}
	left := make(map[string]any, len(given))
	for name, value := range given {
		left[name] = value
	}
	path := op.path
	for _, parameter := range op.parameters() {
		value, present := left[parameter.Name]
		delete(left, parameter.Name)
		if !present || value == nil {
			if parameter.Required {
				return nil, configuration(fmt.Sprintf("the operation %s needs the parameter %q (in %s)", op.id, parameter.Name, parameter.In))
			}
			continue
		}
		if path, fault = putParameter(req, path, parameter, value); fault != nil {
			return nil, fault
		}
	}
	if path, fault = op.security(req, path, left); fault != nil {
		return nil, fault
	}
	for name, value := range left {
		if text, ok := value.(string); ok && strings.EqualFold(name, "authorization") {
			req.Header.Set("Authorization", text)
			delete(left, name)
		}
	}
	if fault := op.body(req, left); fault != nil {
		return nil, fault
	}
	if fault := op.checkPath(path); fault != nil {
		return nil, fault
	}
	req.Endpoint = base + path
	return req, nil
}

// security places what the security schemes of the operation take as a parameter: API keys
// in headers, the query and cookies. What the body has under the same name stays there.
func (op *operation) security(req *http.Request, path string, left map[string]any) (string, *machine.Fault) {
	requirements := op.document.Security
	if op.details.Security != nil {
		requirements = *op.details.Security
	}
	if op.document.Components == nil {
		return path, nil
	}
	for _, alternative := range requirements {
		for name := range alternative {
			ref := op.document.Components.SecuritySchemes[name]
			if ref == nil || ref.Value == nil || ref.Value.Type != "apiKey" {
				continue
			}
			value, given := left[ref.Value.Name]
			if !given || value == nil || op.inBody(ref.Value.Name) {
				continue
			}
			delete(left, ref.Value.Name)
			var fault *machine.Fault
			if path, fault = putParameter(req, path, &openapi3.Parameter{Name: ref.Value.Name, In: ref.Value.In}, value); fault != nil {
				return "", fault
			}
		}
	}
	return path, nil
}

func (op *operation) inBody(name string) bool {
	if op.details.RequestBody == nil || op.details.RequestBody.Value == nil {
		return false
	}
	for _, media := range op.details.RequestBody.Value.Content {
		if media != nil && media.Schema != nil && media.Schema.Value != nil && media.Schema.Value.Properties[name] != nil {
			return true
		}
	}
	return false
}

// checkPath refuses values of parameters that lead to another path: "..", and places that
// got no value.
func (op *operation) checkPath(path string) *machine.Fault {
	if rest := variableInURL.FindString(path); rest != "" {
		return configuration(fmt.Sprintf("the operation %s needs a value for %s in its path", op.id, excerpt.Clip(rest, clipBytes)))
	}
	for segment := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(segment); err != nil || plain == "." || plain == ".." {
			return configuration(fmt.Sprintf("a parameter of the operation %s would lead to another path: %q", op.id, excerpt.Clip(segment, clipBytes)))
		}
	}
	return nil
}

// parameters are those of the path item, overridden by those of the operation.
func (op *operation) parameters() []*openapi3.Parameter {
	var list []*openapi3.Parameter
	own := map[string]bool{}
	for _, ref := range op.details.Parameters {
		if ref.Value != nil {
			list = append(list, ref.Value)
			own[ref.Value.In+" "+ref.Value.Name] = true
		}
	}
	for _, ref := range op.item.Parameters {
		if ref.Value != nil && !own[ref.Value.In+" "+ref.Value.Name] {
			list = append(list, ref.Value)
		}
	}
	return list
}

func putParameter(req *http.Request, path string, p *openapi3.Parameter, v value.Value) (string, *machine.Fault) {
	if media := p.Content.Get("application/json"); media != nil && p.Schema == nil {
		v = string(value.Marshal(v)) // a parameter that is described by its content
	}
	style, err := p.SerializationMethod()
	if err != nil {
		return "", configuration(fmt.Sprintf("the style of the parameter %q cannot be used: %v", p.Name, err))
	}
	switch p.In {
	case openapi3.ParameterInQuery:
		return path, query(req.Query, p.Name, style, v)
	case openapi3.ParameterInPath:
		text, fault := pathText(p.Name, style, v)
		return strings.ReplaceAll(path, "{"+p.Name+"}", text), fault
	case openapi3.ParameterInHeader:
		text, fault := joined(p.Name, v, ",", style.Explode, func(s string) string { return s })
		if fault == nil {
			fault = http.CheckHeader(p.Name, text)
		}
		req.Header.Set(p.Name, text)
		return path, fault
	case openapi3.ParameterInCookie:
		text, fault := joined(p.Name, v, ",", false, url.QueryEscape)
		cookie := p.Name + "=" + text
		if before := req.Header.Get("Cookie"); before != "" {
			cookie = before + "; " + cookie
		}
		if fault == nil {
			fault = http.CheckHeader("Cookie", cookie)
		}
		req.Header.Set("Cookie", cookie)
		return path, fault
	}
	return "", configuration(fmt.Sprintf("the parameter %q has the location %q, which is not known", p.Name, p.In))
}

// pathText writes a path parameter in the styles simple, label and matrix.
func pathText(name string, style *openapi3.SerializationMethod, value value.Value) (string, *machine.Fault) {
	prefix, separator := "", ","
	switch style.Style {
	case openapi3.SerializationLabel:
		prefix = "."
		if style.Explode {
			separator = "."
		}
	case openapi3.SerializationMatrix:
		prefix = ";" + name + "="
		if style.Explode {
			if separator = ";" + name + "="; isObject(value) {
				prefix, separator = ";", ";"
			}
		}
	}
	text, fault := joined(name, value, separator, style.Explode, url.PathEscape)
	return prefix + text, fault
}

func isObject(value value.Value) bool {
	_, is := value.(map[string]any)
	return is
}

func query(into url.Values, name string, style *openapi3.SerializationMethod, value value.Value) *machine.Fault {
	switch v := value.(type) {
	case []any:
		if style.Explode {
			for _, item := range v {
				text, fault := scalar(name, item)
				if fault != nil {
					return fault
				}
				into.Add(name, text)
			}
			return nil
		}
	case map[string]any:
		if style.Explode || style.Style == openapi3.SerializationDeepObject {
			for key, item := range v {
				text, fault := scalar(name, item)
				if fault != nil {
					return fault
				}
				if style.Style == openapi3.SerializationDeepObject {
					key = name + "[" + key + "]"
				}
				into.Add(key, text)
			}
			return nil
		}
	}
	separator := ","
	switch style.Style {
	case openapi3.SerializationSpaceDelimited:
		separator = " "
	case openapi3.SerializationPipeDelimited:
		separator = "|"
	}
	text, fault := joined(name, value, separator, false, func(s string) string { return s })
	if fault == nil {
		into.Add(name, text)
	}
	return fault
}

// joined writes a scalar, a list or a flat object as one text.
func joined(name string, value value.Value, separator string, explode bool, escape func(string) string) (string, *machine.Fault) {
	var parts []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			text, fault := scalar(name, item)
			if fault != nil {
				return "", fault
			}
			parts = append(parts, escape(text))
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			text, fault := scalar(name, v[key])
			if fault != nil {
				return "", fault
			}
			if explode {
				parts = append(parts, escape(key)+"="+escape(text))
			} else {
				parts = append(parts, escape(key), escape(text))
			}
		}
	default:
		text, fault := scalar(name, value)
		return escape(text), fault
	}
	return strings.Join(parts, separator), nil
}

func scalar(name string, value value.Value) (string, *machine.Fault) {
	text, ok := http.Scalar(value)
	if !ok {
		return "", configuration(fmt.Sprintf("the parameter %q holds a value that its place cannot carry", name))
	}
	return text, nil
}

// originalName is where the conversion from Swagger 2.0 keeps the name of a body parameter.
const originalName = "x-originalParamName"

// body makes the leftover parameters the request body, or takes the one that is the whole
// body under its own name (T82).
func (op *operation) body(req *http.Request, left map[string]any) *machine.Fault {
	if op.details.RequestBody == nil || op.details.RequestBody.Value == nil {
		if len(left) > 0 {
			return configuration(fmt.Sprintf("the operation %s has no parameter %s and no body to put it in", op.id, listed(sortedKeys(left))))
		}
		return nil
	}
	described := op.details.RequestBody.Value
	whole, _ := described.Extensions[originalName].(string)
	value, isWhole := left[whole]
	switch {
	case whole != "" && isWhole && len(left) == 1:
		req.Body = value
	case len(left) > 0:
		req.Body = left
	case described.Required:
		return configuration(fmt.Sprintf("the operation %s needs a body: give its fields as parameters", op.id))
	default:
		return nil
	}
	if media := mediaType(described.Content); media != "" {
		req.Header.Set("Content-Type", media)
	}
	return nil
}

// mediaType prefers JSON, then a form, then the first by name.
func mediaType(content openapi3.Content) string {
	names := make([]string, 0, len(content))
	for name := range content {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, wanted := range []string{"application/json", "application/x-www-form-urlencoded"} {
		for _, name := range names {
			if strings.HasPrefix(name, wanted) {
				return name
			}
		}
	}
	if len(names) == 0 || strings.Contains(names[0], "*") {
		return ""
	}
	return names[0]
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func listed(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	sort.Strings(names)
	rest := ""
	if len(names) > most {
		names, rest = names[:most], " …"
	}
	return strings.Join(names, ", ") + rest
}
