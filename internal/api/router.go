package api

import (
	"net/http"
	"net/url"
	"strings"
)

// maxParams bounds the parameters of one path.
const maxParams = 3

// match is what the router finds out about a path.
type match struct {
	node   *node
	params [maxParams]string // in the order of the path, decoded
}

// node is one segment of the tree of paths. The tree is immutable once built.
type node struct {
	literal map[string]*node
	param   *node     // any other segment
	kind    paramKind // what the segment of a param node names
	depth   int       // number of params up to here
	routes  []*route  // one per method; nil: no path ends here
	allow   string    // value of the Allow header
}

// add puts a route into the tree below n. It panics on a table that contradicts itself.
func (n *node) add(rt *route) {
	for segment := range strings.SplitSeq(strings.TrimPrefix(rt.path, "/"), "/") {
		n = n.child(segment, rt.path)
	}
	for _, other := range n.routes {
		if other.method == rt.method {
			panic("api: two routes for " + rt.method + " " + rt.path)
		}
	}
	n.routes = append(n.routes, rt)
	n.allow = allowed(n.routes)
}

func (n *node) child(segment, path string) *node {
	name, isParam := strings.CutPrefix(segment, "{")
	if isParam {
		kind, ok := paramKinds[strings.TrimSuffix(name, "}")]
		if !ok {
			panic("api: unknown parameter " + segment + " in " + path)
		}
		if n.param == nil {
			n.param = &node{kind: kind, depth: n.depth + 1}
		}
		if n.param.kind != kind || n.param.depth > maxParams {
			panic("api: bad parameter " + segment + " in " + path)
		}
		return n.param
	}
	if n.literal == nil {
		n.literal = map[string]*node{}
	}
	if n.literal[segment] == nil {
		n.literal[segment] = &node{depth: n.depth}
	}
	return n.literal[segment]
}

// find walks the tree along the path of u. Segments are split before they are decoded, so
// that an encoded slash is part of a segment. m.node is nil if no route has this path.
func (n *node) find(u *url.URL, m *match) {
	path, encoded := u.Path, false
	if u.RawPath != "" {
		path, encoded = u.RawPath, true
	}
	rest, ok := strings.CutPrefix(path, "/")
	for more := true; ok && more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if encoded {
			decoded, err := url.PathUnescape(segment)
			if err != nil {
				return
			}
			segment = decoded
		}
		next := n.literal[segment]
		if next == nil && n.param != nil && segment != "" {
			next = n.param
			m.params[n.depth] = segment
		}
		if next == nil {
			return
		}
		n = next
	}
	if ok && n.routes != nil {
		m.node = n
	}
}

// route returns the route for a method, or nil. HEAD is answered by the route of GET.
func (n *node) route(method string) *route {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, rt := range n.routes {
		if rt.method == method {
			return rt
		}
	}
	return nil
}

// allowed is the value of the Allow header for a path with these routes.
func allowed(routes []*route) string {
	var methods []string
	for _, rt := range routes {
		methods = append(methods, rt.method)
		if rt.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}
