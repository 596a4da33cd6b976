package openapi

import (
	"fmt"
	nethttp "net/http"
	"net/url"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
)

// request distributes the given parameters (T43, T82).
func (op *operation) request(document string, given map[string]any) (*http.Request, *machine.Fault) {
	base, fault := op.baseURL(document)
	if fault != nil {
		return nil, fault
	}
	req := &http.Request{Method: op.method, Header: nethttp.Header{}, Query: url.Values{}}
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
		if path, fault = place(req, path, parameter, value); fault != nil {
			return nil, fault
		}
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
	req.Endpoint = base + path
	return req, nil
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

func place(req *http.Request, path string, p *openapi3.Parameter, value expr.Value) (string, *machine.Fault) {
	style, err := p.SerializationMethod()
	if err != nil {
		return "", configuration(fmt.Sprintf("the style of the parameter %q cannot be used: %v", p.Name, err))
	}
	switch p.In {
	case openapi3.ParameterInQuery:
		return path, query(req.Query, p.Name, style, value)
	case openapi3.ParameterInPath:
		text, fault := joined(p.Name, value, ",", style.Explode, url.PathEscape)
		return strings.ReplaceAll(path, "{"+p.Name+"}", pathPrefix(style.Style, p.Name)+text), fault
	case openapi3.ParameterInHeader:
		text, fault := joined(p.Name, value, ",", style.Explode, func(s string) string { return s })
		req.Header.Set(p.Name, text)
		return path, fault
	case openapi3.ParameterInCookie:
		text, fault := joined(p.Name, value, ",", false, url.QueryEscape)
		cookie := p.Name + "=" + text
		if before := req.Header.Get("Cookie"); before != "" {
			cookie = before + "; " + cookie
		}
		req.Header.Set("Cookie", cookie)
		return path, fault
	}
	return "", configuration(fmt.Sprintf("the parameter %q stands in %q, which is not known", p.Name, p.In))
}

func pathPrefix(style, name string) string {
	switch style {
	case openapi3.SerializationLabel:
		return "."
	case openapi3.SerializationMatrix:
		return ";" + name + "="
	}
	return ""
}

func query(into url.Values, name string, style *openapi3.SerializationMethod, value expr.Value) *machine.Fault {
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
func joined(name string, value expr.Value, separator string, explode bool, escape func(string) string) (string, *machine.Fault) {
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

func scalar(name string, value expr.Value) (string, *machine.Fault) {
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
